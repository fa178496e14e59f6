"""Memory, before it is taken: what a certified pass needs, and what the machine has left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.certified.scheduling import SCOUTED
from exactformer.model import InputError, Model

_SLICED = 16  # bytes for each weight of a block that are kept: floats of 24 bits fit into two slices of float64
_SHORT = 8  # the same of weights in bfloat16 or float16, which fit into one
_HEAD = 8  # for each of the unembedding, which is float64 as a rule
_COLUMN = 64  # for each output: a logit, with its radius
_NORMED = 24  # for each weight of a matrix while its norms are taken: floats, with the gain, and squares
_CUT = 40 << 20  # at most, while slices are cut, some columns at a time
_SLICED_HEAD = 24  # for each of it where it is cut as well, as comparisons do
_FEW = 1024  # weights that are looked at
_LOGIT = 40  # for each logit of a scout: floats, radii and bounds of them
_BESIDE = 80  # for each number of a comparison: floats of both kinds, and bounds of their errors
_WORK = 16 << 20  # whatever the model
_ARRAYS = 4  # arrays of limbs that are held at once, as large as the widest of a block
_PATTERNS = 20  # arrays of floats as large as an attention pattern
_READ = 48 << 20  # at most, for errors in the directions in which they are read, a few positions at a time
_SCORES = 512 << 20  # at most, for scores in limbs, which are made a few heads at a time


def needed(model: Model, length: int, limbs: int, following: int = 0, compared: bool = False, kept: bool = True) -> int:
    """Bytes that a pass over `length` tokens, and over `following` ones one by one, takes besides the weights themselves.

    Slices are `kept` for the next pass, or made anew for each. As measured; with room for as many limbs in all blocks, of which a
    pass takes fewer as a rule.
    """
    computed = max(for_pass(model, length, limbs, following, compared), for_scout(model))
    return for_weights(model, compared=compared, kept=kept) + computed


def for_weights(model: Model, sliced: float | None = None, compared: bool = False, kept: bool = True) -> int:
    """Bytes of what is made of the weights, where slices are `kept` or not: `sliced` for each of a block, if that is known."""
    blocks = [weights for name, weights in model.weights.named() if name.startswith("blocks.")]
    largest = max((int(weights.size) for weights in blocks), default=0)
    slices = float(_NORMED * largest + min(_CUT, 5 * _SLICED * largest))
    head = len(model.config.spoken) * model.config.dim
    if kept:
        slices += sum((_sliced(weights) if sliced is None else sliced) * int(weights.size) for weights in blocks) + _HEAD * head
    if compared:
        slices += _SLICED_HEAD * head
    return int(slices)


def for_scout(model: Model) -> int:
    """Bytes of what a scout computes, which wants the logits of all that it reads."""
    length = min(SCOUTED, model.config.length or SCOUTED)
    return for_pass(model, length, 1) + length * len(model.config.spoken) * _LOGIT


def for_pass(model: Model, length: int, limbs: int, following: int = 0, compared: bool = False) -> int:
    """Bytes of what a pass computes."""
    config = model.config
    width = max(config.dim, config.mlp, 3 * config.heads * config.head_dim)
    stream = (length * _ARRAYS * width + 2 * (length + following) * config.dim * config.blocks) * limbs * 8
    pattern = config.heads * length * (length + following) * 8
    stream += _PATTERNS * pattern + min(_ARRAYS * limbs * pattern, _SCORES) + min(6 * config.head_dim * pattern, _READ)
    by_block = 14 * config.dim + 2 * config.mlp + 4 * config.heads * length  # entries of all steps, for each token
    steps = length * (config.blocks * by_block + len(config.spoken)) * (8 * limbs + _BESIDE) if compared else 0
    return stream + _COLUMN * len(config.spoken) + steps + _WORK


def _sliced(weights: Any) -> int:
    """Bytes of a weight in slices, by a few of them."""
    few = np.ascontiguousarray(weights[(0,) * (weights.ndim - 1)][:_FEW])
    short = few.itemsize == 2 or (few.dtype == np.float32 and not (few.view(np.uint32) & 0xFFFF).any())
    return _SHORT if short else _SLICED


def available() -> int | None:
    """Bytes that this process can still have, swap included; None where the system does not say."""
    found = _of_machine()
    limit = _of_group()
    return limit if found is None else found if limit is None else min(found, limit)


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        fields = {line.partition(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.endswith("kB")}
        return fields["MemAvailable"] + fields.get("SwapFree", 0)
    except (OSError, KeyError, ValueError, UnicodeDecodeError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def _of_group() -> int | None:
    """What a container has left of its limit."""
    try:
        limit, used = (Path(f"/sys/fs/cgroup/memory.{name}").read_text(encoding="ascii").strip() for name in ("max", "current"))
        reclaimable = next(
            int(line.split()[1])
            for line in Path("/sys/fs/cgroup/memory.stat").read_text(encoding="ascii").splitlines()
            if line.startswith("inactive_file ")
        )
        return None if limit == "max" else int(limit) - int(used) + reclaimable
    except (OSError, ValueError, StopIteration, UnicodeDecodeError):
        return None


def check_memory(model: Model, name: str, length: int, limbs: int, following: int = 0, compared: bool = False) -> bool:
    """As `keeps`; what the machine has too little memory for even if nothing is kept, is refused.

    >>> from exactformer.worksheets import load
    >>> check_memory(load("capstone").model, "capstone", 2, 14)
    True
    """
    wanted, left = needed(model, length, limbs, following, compared, kept=False), available()
    if left is not None and wanted > left:
        raise InputError(f"{name}: a certified pass needs about {shown(wanted)} of memory; {shown(left)} are free")
    return keeps(model, length, limbs, following, compared)


def keeps(model: Model, length: int, limbs: int, following: int = 0, compared: bool = False) -> bool:
    """Is there room to keep slices from one pass to the next?"""
    left = available()
    return left is None or needed(model, length, limbs, following, compared) <= left


def made_anew(name: str) -> str:
    """What is said where there is no room to keep slices."""
    return f"{name}: slices of the weights are made anew for each pass: there is too little memory to keep them"


def shown(size: int) -> str:
    """
    >>> shown(2_240_000_000), shown(17_000_000)
    ('2.2 GB', '17 MB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB"
