"""The grammar of the stories: what it writes it reads, and nothing that is not true."""

from __future__ import annotations

import re

import pytest
from training.stories.grammar import stories, write
from training.stories.reading import unread
from training.stories.words import HERS, HIS, THINGS

SEEDS = range(300)


def test_a_seed_is_a_story() -> None:
    assert [write(seed) for seed in range(20)] == [write(seed) for seed in range(20)]
    assert write(0).text == (
        "Once upon a time, a lonely fox named Zoe lived at the end of the road. She had an orange wagon. One summer day, Zoe "
        "went to the village. There she met a quiet shepherdess named Alice. Alice had a yellow shell. Suddenly Zoe lost the "
        'wagon. She was sad. At last Alice found it under a bench. "It is yours now," said Zoe. So the wagon was with Alice. '
        "Zoe looked under a tree and found a wooden ball. She put the ball in her box. They sat down to rest. At the end of the "
        "day they said goodbye. Alice went home with the wagon and the shell. Zoe went home with the ball. They met again the "
        "next day. The end."
    )


def test_stories_differ() -> None:
    told = [write(seed) for seed in SEEDS]
    assert len({story.text for story in told}) == len(told)
    assert len({story.cast for story in told}) == len(told)


def test_held_out_casts_are_in_no_story_of_the_training_set() -> None:
    trained = {story.cast for story in stories(900, held_out=False)}
    held_out = {story.cast for story in stories(100, held_out=True)}
    assert len(held_out) == 100
    assert not trained & held_out


@pytest.mark.parametrize("seed", range(12))
def test_what_is_written_is_read(seed: int) -> None:
    assert unread(write(seed).text) == ""


def test_what_is_not_true_is_not_read() -> None:
    text = write(0).text
    for right, wrong in (
        ("Zoe went home with the ball", "Zoe went home with the wagon"),
        ("So the wagon was with Alice", "So the wagon was with Zoe"),
        ("There she met", "There he met"),
        ('yours now," said Zoe', 'yours now," said Alice'),
    ):
        changed = text.replace(right, wrong)
        assert text.index(right) <= len(changed) - len(unread(changed)) <= text.index(right) + len(wrong)
    assert unread(text + " More.") == " More."


def test_questions_are_names_things_and_pronouns() -> None:
    words = {"holder": {*HERS, *HIS}, "speaker": {*HERS, *HIS}, "pronoun": {"he", "she", "He", "She", "his", "her"}}
    for story in map(write, SEEDS):
        for question in story.questions:
            answer = story.text[question.start : question.end]
            if question.kind == "thing":
                assert answer == "nothing." or set(re.findall(r"\w+", answer)) <= {*THINGS, "the", "and"}
            else:
                assert answer in words[question.kind]


def test_names_are_of_one_pronoun() -> None:
    assert not {*HERS} & {*HIS}
    assert len({*HERS, *HIS}) == 64
