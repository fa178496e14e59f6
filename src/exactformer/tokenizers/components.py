"""The parts of a tokenizer.json around its model: what is done to a text before it, and around and after its tokens.

The tokenizers library does it all. Here stands which parts and settings are known, so that nothing is done that nobody looked at,
and the patterns that texts are cut by: a pattern of a stranger might take for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from exactformer.reading import described
from exactformer.tokenizers.fields import Fields

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS = r"|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_SPLITS = (
    f"{_CONTRACTIONS}{_WORDS}\\p{{N}}{{1,3}}{_REST}",  # Llama 3
    f"{_CONTRACTIONS}{_WORDS}\\p{{N}}{_REST}",  # Qwen 2, 2.5 and 3
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",  # GPT-2
)
_FLAG = (True, False)
_META = {
    "replacement": ("▁",), "prepend_scheme": ("always", "first", "never"), "split": _FLAG, "add_prefix_space": _FLAG,
    "str_rep": ("▁",),
}  # fmt: skip
_BYTE_LEVEL = {"add_prefix_space": _FLAG, "trim_offsets": _FLAG, "use_regex": _FLAG}
Kinds = Mapping[str, Mapping[str, tuple[object, ...]]]

_NORMALIZERS: Kinds = {
    "NFC": {}, "NFD": {}, "NFKC": {}, "NFKD": {}, "Prepend": {"prepend": ("▁",)},
    "Replace": {"pattern": ({"String": " "},), "content": ("▁",)},
}  # fmt: skip
_PRE_TOKENIZERS: Kinds = {
    "ByteLevel": _BYTE_LEVEL, "Digits": {"individual_digits": _FLAG}, "Metaspace": _META,
    "Split": {
        "pattern": ({"String": " "}, *({"Regex": pattern} for pattern in _SPLITS)),
        "behavior": ("Isolated", "MergedWithPrevious", "Removed"), "invert": _FLAG,
    },
}  # fmt: skip
_DECODERS: Kinds = {
    "ByteLevel": _BYTE_LEVEL, "Metaspace": _META, "ByteFallback": {}, "Fuse": {},
    "Replace": {"pattern": ({"String": "▁"},), "content": (" ",)}, "Strip": {"content": (" ",), "start": (0, 1), "stop": (0,)},
}  # fmt: skip
_PROCESSORS: Kinds = {"ByteLevel": _BYTE_LEVEL, "TemplateProcessing": {"single": (), "pair": (), "special_tokens": ()}}
_DEPTH = 3  # sequences inside sequences


@dataclass(frozen=True)
class Around:
    """What the parts around the model do, as far as it shows in ids and names."""

    bytes: bool  # are texts turned into letters for bytes?
    fallback: bool  # are characters that are not in the vocabulary turned into tokens for bytes?
    prefix_space: bool  # is a space put before a text?
    strips_space: bool  # and taken away when ids are decoded?
    before: tuple[int, ...]  # ids that are put around a text
    after: tuple[int, ...]


def around(top: Fields) -> Around:
    """What is said of a file, every part of which is known."""
    normalizers = list(_parts(top, "normalizer", _NORMALIZERS, "normalizers"))
    cuts = list(_parts(top, "pre_tokenizer", _PRE_TOKENIZERS, "pretokenizers"))
    decoders = list(_parts(top, "decoder", _DECODERS, "decoders"))
    templates = [
        part for part in _parts(top, "post_processor", _PROCESSORS, "processors") if part.raw["type"] == "TemplateProcessing"
    ]
    bytes = any(part.raw["type"] == "ByteLevel" for part in cuts)
    if bytes != any(part.raw["type"] == "ByteLevel" for part in decoders):
        raise top.error("decoder", "and pre_tokenizer must both be ByteLevel, or neither")
    if len(templates) > 1:
        raise templates[1].error("type", "is a second template for the tokens around a text, which is not supported")
    before, after = _template(templates[0]) if templates else ((), ())
    prefix = any(part.raw["type"] == "Prepend" for part in normalizers) or any(map(_prefixes, cuts))
    strips = any(part.raw["type"] == "Strip" and part.raw.get("start") for part in decoders)
    fallback = any(part.raw["type"] == "ByteFallback" for part in decoders)
    return Around(
        bytes,
        fallback,
        prefix,
        strips or any(part.raw["type"] == "Metaspace" and _prefixes(part) for part in decoders),
        before,
        after,
    )


def _parts(place: Fields, field: str, kinds: Kinds, inner: str, depth: int = _DEPTH) -> Iterator[Fields]:
    """The parts of a sequence one by one, each of a known kind with known settings; of nothing, none."""
    if place.raw.get(field) is None:
        return
    part = place.table(field)
    part.must_be("type", (*kinds, "Sequence"))
    if part.raw["type"] == "Sequence":
        part.only(("type", inner))
        listed = part.items(inner)
        if not depth:
            raise part.error(inner, "is nested too deeply")
        for n, entry in enumerate(listed):
            yield from _parts(Fields({str(n): entry}, part.file, f"{part.place}{inner}."), str(n), kinds, inner, depth - 1)
        return
    known = kinds[part.raw["type"]]
    part.only(("type", *known))
    for name, allowed in known.items():
        if name in part.raw and allowed:
            part.must_be(name, allowed)
    yield part


def _prefixes(part: Fields) -> bool:
    """Does a pre-tokenizer put a space before a text? Both kinds do unless they say otherwise."""
    if part.raw["type"] == "ByteLevel":
        return bool(part.raw.get("add_prefix_space", True))
    if part.raw["type"] == "Metaspace":
        return bool(part.raw.get("prepend_scheme", "always") != "never" and part.raw.get("add_prefix_space", True))
    return False


def _template(part: Fields) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids before and after the text, of which there is one."""
    special = part.table("special_tokens")
    ids: list[list[int]] = [[]]
    for n, entry in enumerate(part.items("single")):
        [(kind, value)] = entry.items() if isinstance(entry, dict) and len(entry) == 1 else [("", None)]
        name = value.get("id") if isinstance(value, dict) else None
        if kind == "Sequence" and name == "A":
            ids.append([])
        elif kind == "SpecialToken" and isinstance(name, str):
            ids[-1] += _ids(special.table(name))
        else:
            raise part.error(f"single.{n}", f"is {described(entry)}, not a token or the text")
    if len(ids) != 2:
        raise part.error("single", "does not have the text once")
    return tuple(ids[0]), tuple(ids[1])


def _ids(token: Fields) -> list[Any]:
    ids = token.items("ids")
    if not all(type(id) is int and id >= 0 for id in ids):
        raise token.error("ids", "are not ids of tokens")
    return ids
