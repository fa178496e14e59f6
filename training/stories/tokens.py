"""The tokenizer of the stories: byte pairs that are counted on them, so any text has tokens and every word of a story is one."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from training.stories.grammar import Story
from training.stories.telling import Kind

END = "<|endoftext|>"
MOST = 1024


def trained_tokenizer(texts: Iterable[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=MOST, special_tokens=[END], initial_alphabet=alphabet, show_progress=False)
    )
    return tokenizer


def encoded(tokenizer: Tokenizer, story: Story) -> tuple[list[int], list[tuple[Kind, range]]]:
    """The tokens of a story with its end, and for every question the positions of the tokens that answer it."""
    encoding = tokenizer.encode(story.text)
    asked = []
    for question in story.questions:
        asked.append((question.kind, range(encoding.char_to_token(question.start), encoding.char_to_token(question.end - 1) + 1)))
    return [*encoding.ids, tokenizer.token_to_id(END)], asked
