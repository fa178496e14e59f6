"""python -m training.stories.train FOLDER: writes stories, trains a tokenizer and a Llama on them, and measures what it has learnt.

The stories, the tokenizer and the order of the batches are the same in every run. The weights are not, to the last bit: PyTorch
adds in another order on another machine. The loss comes out about the same.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.optim.lr_scheduler import LambdaLR
from transformers import LlamaConfig, LlamaForCausalLM

from tokenizers import Tokenizer
from training.stories.grammar import Story, stories
from training.stories.measure import measured
from training.stories.report import write_report
from training.stories.tokens import END, encoded, trained_tokenizer

SEED = 15
BATCH = 16
ASKED = 4.0  # a word that can be known counts as much as so many others: most of the loss is chance that nobody can learn
_BUCKET = 32  # batches that are cut from stories sorted by length, so that little is padded


def batches(examples: list[tuple[Tensor, Tensor]], seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Tokens with their weights in the loss, padded to the longest story of each batch; a weight of 0 is padding."""
    chance = random.Random(seed)
    for start in range(0, len(examples), _BUCKET * BATCH):
        bucket = sorted(examples[start : start + _BUCKET * BATCH], key=lambda example: len(example[0]))
        cut = [bucket[i : i + BATCH] for i in range(0, len(bucket), BATCH)]
        chance.shuffle(cut)
        for batch in cut:
            ids, weights = zip(*batch, strict=True)
            yield pad_sequence(list(ids), batch_first=True), pad_sequence(list(weights), batch_first=True)


def train(model: LlamaForCausalLM, examples: list[tuple[Tensor, Tensor]]) -> list[tuple[int, float, float]]:
    """One pass over the stories. Every hundred steps: the loss (natural logarithm, a token), and that of words that are asked."""
    inner = [weight for name, weight in model.named_parameters() if weight.ndim == 2 and "embed" not in name]
    outer = [weight for name, weight in model.named_parameters() if weight.ndim == 1 or "embed" in name]
    optimizers = (
        torch.optim.Muon(inner, lr=0.01, weight_decay=0.01, adjust_lr_fn="original"),
        torch.optim.AdamW(outer, lr=0.003, betas=(0.9, 0.98), weight_decay=0.01),
    )
    steps = len(examples) // BATCH
    rates = [LambdaLR(each, lambda step: min(1, step / 50, 1.5 * (1 - step / steps) + 0.01)) for each in optimizers]
    curve, lately, start = [], [], time.monotonic()
    for step, (ids, weights) in enumerate(batches(examples, SEED), 1):
        losses = F.cross_entropy(model(ids[:, :-1], use_cache=False).logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        weighing = weights[:, 1:].flatten()
        ((losses * weighing).sum() / weighing.sum()).backward()
        for each in (*optimizers, *rates):
            each.step()
        model.zero_grad()
        lately.append((float(losses.detach()[weighing > 0].mean()), float(losses.detach()[weighing == ASKED].mean())))
        if step % 100 == 0 or step == steps:
            loss, asked = (round(fmean(column), 4) for column in zip(*lately, strict=True))
            curve.append((step, loss, asked))
            print(f"step {step} of {steps}: loss {loss}, asked {asked}, {time.monotonic() - start:.0f} s", flush=True)
            lately.clear()
    return curve


def untrained(tokenizer: Tokenizer) -> LlamaForCausalLM:
    end = tokenizer.token_to_id(END)
    config = LlamaConfig(
        hidden_size=64, intermediate_size=172, num_hidden_layers=5, num_attention_heads=4, num_key_value_heads=2, hidden_act="silu",
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=256, rms_norm_eps=1e-5, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, initializer_range=0.06, bos_token_id=None,
        eos_token_id=end,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def _example(tokenizer: Tokenizer, story: Story) -> tuple[Tensor, Tensor]:
    ids, asked = encoded(tokenizer, story)
    known = {at for _, positions in asked for at in positions}
    return torch.tensor(ids), torch.tensor([ASKED if at in known else 1.0 for at in range(len(ids))])


def save(model: LlamaForCausalLM, tokenizer: Tokenizer, folder: Path) -> None:
    """A folder with the weights in bfloat16."""
    model.bfloat16().save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)  # says nothing that config.json does not
    tokenizer.save(str(folder / "tokenizer.json"))
    length = model.config.max_position_embeddings
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "model_max_length": length}
    (folder / "tokenizer_config.json").write_text(json.dumps(names, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write little stories, and train a tokenizer and a Llama on them.")
    parser.add_argument("folder", type=Path, help="where the model goes")
    parser.add_argument("--stories", type=int, default=32_000, help="how many stories to train on (default: 32,000)")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results", help="where the figures go")
    options = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)  # the model is so small that a second thread waits more than it helps
    start = time.monotonic()
    told = list(stories(options.stories, held_out=False))
    tokenizer = trained_tokenizer(story.text for story in told[:4000])
    examples = [_example(tokenizer, story) for story in told]
    model = untrained(tokenizer)
    curve = train(model, examples)
    seconds = time.monotonic() - start
    save(model, tokenizer, options.folder)
    write_report(options.results, measured(options.folder), curve, options.stories, seconds)


if __name__ == "__main__":
    main()
