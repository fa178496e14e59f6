"""What a model of the stories has learnt, measured on stories that are held out: with the weights as they are saved, in float64."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import LlamaForCausalLM

from tokenizers import Tokenizer
from training.stories.grammar import Story, stories
from training.stories.reading import unread
from training.stories.telling import Kind
from training.stories.tokens import END, encoded
from training.stories.words import HERS, HIS, THINGS

_NAMED = {"holder": (*HERS, *HIS), "speaker": (*HERS, *HIS), "thing": THINGS}
_OTHER = {"he": "she", "him": "her", "his": "her", "He": "She"} | {"she": "he", "her": "his", "She": "He"}


@dataclass(frozen=True)
class Score:
    """Of so many questions, how many are answered; and how many by who or what was named last, where that is an answer."""

    asked: int
    right: int
    named_last: int | None


@dataclass(frozen=True)
class Measured:
    weights: int
    vocabulary: int
    held_out: int
    loss: float  # a token, natural logarithm
    least_loss: float  # what chance alone costs: a reader who knows the grammar has this one
    scores: dict[Kind, Score]
    continued: int
    true: int  # continuations that are stories of the grammar to their last letter
    told: str  # what follows "Once upon a time"

    def document(self) -> dict[str, Any]:
        return asdict(self)


def measured(folder: Path, number: int = 500, continued: int = 50) -> Measured:
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float64)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    asked: Counter[Kind] = Counter()
    right: Counter[Kind] = Counter()
    last: Counter[Kind] = Counter()
    loss = least = tokens = 0.0
    held_out = list(stories(number, held_out=True))
    with torch.inference_mode():
        for story in held_out:
            ids, questions = encoded(tokenizer, story)
            logits = model(torch.tensor([ids])).logits[0]
            loss += float(F.cross_entropy(logits[:-1], torch.tensor(ids[1:]), reduction="sum"))
            least += story.chance
            tokens += len(ids) - 1
            for (kind, positions), question in zip(questions, story.questions, strict=True):
                asked[kind] += 1
                right[kind] += all(_answered(tokenizer, logits[at - 1], ids[at], kind) for at in positions)
                last[kind] += _named_last(story, kind, question.start, question.end)
        begun = [story.text[: story.text.index(".") + 1] for story in held_out[:continued]]
        continuations = told(model, tokenizer, begun)
        (once,) = told(model, tokenizer, ["Once upon a time"])
    scores = {kind: Score(asked[kind], right[kind], last[kind] if kind in _NAMED else None) for kind in sorted(asked)}
    true = sum(text.endswith("The end.") and not unread(text) for text in continuations)
    weights = sum(weight.numel() for weight in model.parameters())
    return Measured(weights, tokenizer.get_vocab_size(), number, loss / tokens, least / tokens, scores, continued, true, once)


def _answered(tokenizer: Tokenizer, logits: Tensor, token: int, kind: Kind) -> bool:
    """Is it the likeliest token of all? Where a pronoun stands, other words may: there, is it likelier than the other pronoun?"""
    if kind != "pronoun":
        return int(logits.argmax()) == token
    other = tokenizer.token_to_id("Ġ" + _OTHER[tokenizer.decode([token]).strip()])
    return bool(logits[token] > logits[other])


def _named_last(story: Story, kind: Kind, start: int, end: int) -> bool:
    """Would the name or thing that was named last be right?"""
    named = re.findall(r"\b(?:" + "|".join(_NAMED.get(kind, ("^",))) + r")\b", story.text[:start])
    return bool(named) and named[-1] == story.text[start:end].removeprefix("the ").removesuffix(".")


def told(model: LlamaForCausalLM, tokenizer: Tokenizer, prompts: Iterable[str]) -> list[str]:
    """Each prompt with the likeliest token after it, and so on to the end of the story or of the context."""
    end = tokenizer.token_to_id(END)
    texts = []
    for prompt in prompts:
        ids = tokenizer.encode(prompt).ids
        (whole,) = model.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), do_sample=False, pad_token_id=end,
            max_length=model.config.max_position_embeddings,
        )  # fmt: skip
        texts.append(tokenizer.decode(whole.tolist()))
    return texts
