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
    assert write(1).text == (
        "Once upon a time, there was a merry queen named Mia. She had a pretty violin. One morning, Mia went to the village. "
        "There she met a kind rabbit named Robin. Robin had a red lamp. Mia and Robin swapped their things. Now Robin had "
        'the violin, and Mia had the lamp. The sun was shining. Mia liked the violin, so Robin gave it to Mia. "Thank you, '
        'Robin," said Mia. She was full of joy. Who had the violin now? It was Mia. Now Robin had nothing, and Mia had the '
        "violin and the lamp. Then it was time to go home. Mia went home with the violin and the lamp. Robin went home with "
        "nothing. And they were both happy. The end."
    )


def test_stories_differ() -> None:
    told = [write(seed) for seed in SEEDS]
    assert len({story.text for story in told}) == len(told)
    assert len({story.cast for story in told}) > 0.9 * len(told)


def test_held_out_casts_are_in_no_story_of_the_training_set() -> None:
    trained = {story.cast for story in stories(900, held_out=False)}
    held_out = {story.cast for story in stories(100, held_out=True)}
    assert len(held_out) > 80
    assert not trained & held_out


@pytest.mark.parametrize("seed", range(12))
def test_what_is_written_is_read(seed: int) -> None:
    assert unread(write(seed).text) == ""


def test_what_is_not_true_is_not_read() -> None:
    text = write(1).text
    for right, wrong in (
        ("Robin went home with nothing", "Robin went home with the lamp"),
        ("Now Robin had the violin", "Now Robin had the lamp"),
        ("Now Robin had nothing", "Now Mia had nothing"),
        ("It was Mia", "It was Robin"),
        ("There she met", "There he met"),
        ("said Mia. She was", "said Robin. He was"),
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
                assert answer == "nothing" or set(re.findall(r"\w+", answer)) <= {*THINGS, "the", "and"}
            else:
                assert answer in words[question.kind]


def test_names_are_of_one_pronoun() -> None:
    assert not {*HERS} & {*HIS}
    assert len({*HERS, *HIS}) == 64
