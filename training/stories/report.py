"""results.json and results.md: what was trained, and what it can do."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import torch

from training.stories.measure import Measured

_ASKED = {
    "holder": "who has the thing (name)",
    "thing": "what somebody has (thing)",
    "pronoun": "he or she (pronoun)",
    "speaker": "who speaks, who is thanked (name)",
}


def write_report(folder: Path, found: Measured, curve: list[tuple[int, float, float]], stories: int, seconds: float) -> None:
    run = {"stories": stories, "seconds": round(seconds), "torch": torch.__version__, "python": platform.python_version()}
    folder.mkdir(parents=True, exist_ok=True)
    document = {"format": "exactformer stories 1", **found.document(), "training": {**run, "loss": curve}}
    (folder / "results.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "results.md").write_text(page(found, curve, stories, seconds))


def page(found: Measured, curve: list[tuple[int, float, float]], stories: int, seconds: float) -> str:
    rows = [
        f"| {_ASKED[kind]} | {score.asked:,} | {score.right / score.asked:.1%} | "
        + (f"{score.named_last / score.asked:.1%} |" if score.named_last is not None else "50% by chance |")
        for kind, score in found.scores.items()
    ]
    return "\n".join(
        [
            "# The model of the stories, measured",
            "",
            f"{found.weights:,} weights, a vocabulary of {found.vocabulary}; trained on {stories:,} stories in {seconds:.0f} s.",
            f"The loss was {curve[-1][1]:.3f} a token at the end; on {found.held_out:,} held-out stories it is {found.loss:.3f}",
            f"(chance alone costs {found.least_loss:.3f}).",
            "",
            "| question | asked | answered | by what was named last |",
            "|---|---:|---:|---:|",
            *rows,
            "",
            f"Given the first sentences of {found.continued} held-out stories, it told {found.true} of them to the end as the",
            "grammar does: every name, thing and pronoun right.",
            "",
            f"> {found.told.removesuffix('<|endoftext|>')}",
            "",
        ]
    )
