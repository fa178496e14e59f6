"""tokenizer_config.json and special_tokens_map.json: nothing in them may change which ids a text becomes.

The transformers library makes every special token that they name an added one, which is looked for before anything else. So each
must be an added token of the tokenizer itself; then naming it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from exactformer.reading import described
from exactformer.tokenizers.byte_pair_tokenizer import BytePairTokenizer
from exactformer.tokenizers.fields import Fields, read_fields

_SPECIAL = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_MORE_SPECIAL = ("additional_special_tokens", "extra_special_tokens")
_OFF = (False, None)
_CLASSES = ("GPT2Tokenizer", "LlamaTokenizer", "Qwen2Tokenizer", "GemmaTokenizer", "GPTNeoXTokenizer", "CodeGenTokenizer")
_AGREEING = ("add_prefix_space", "add_bos_token", "add_eos_token")  # with what the tokenizer does
_FIXED: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(_AGREEING, (None, False, True)),
    "do_lower_case": _OFF,
    "split_special_tokens": _OFF,
    "tokenizer_class": (
        None, "PreTrainedTokenizer", "PreTrainedTokenizerFast", "TokenizersBackend", *_CLASSES,
        *(f"{name}Fast" for name in _CLASSES),
    ),
}  # fmt: skip
# How ids are padded, cut, shown or turned back into text, and where files came from: not which ids a text becomes.
_HARMLESS = frozenset({
    "backend", "chat_template", "clean_up_tokenization_spaces", "errors", "is_local", "legacy", "local_files_only", "max_len",
    "max_length", "model_input_names", "model_max_length", "name_or_path", "padding_side", "processor_class",
    "return_token_type_ids", "sp_model_kwargs", "spaces_between_special_tokens", "special_tokens_map_file", "stride",
    "tokenizer_file", "trim_offsets", "truncation_side", "truncation_strategy", "use_default_system_prompt", "use_fast",
})  # fmt: skip


class Special(NamedTuple):
    """A token that a file of settings names, with its id where the file gives one."""

    file: Fields
    field: str
    content: str
    id: int | None = None


class Settings(NamedTuple):
    """What the files of settings say of ids: special tokens, and what is put before and after a text."""

    special: list[Special]
    agreeing: list[tuple[Fields, str, bool]]


def read_settings(folder: Path) -> Settings:
    """Settings that would change an id are refused, and those that nobody here knows; some must agree with the tokenizer."""
    found: list[Special] = []
    agreeing: list[tuple[Fields, str, bool]] = []
    if (path := folder / "tokenizer_config.json").exists():
        settings = read_fields(path)
        for field, allowed in _FIXED.items():
            settings.must_be(field, allowed)
        settings.only({*_SPECIAL, *_MORE_SPECIAL, *_FIXED, *_HARMLESS, "added_tokens_decoder"})
        agreeing += [(settings, field, settings.raw[field]) for field in _AGREEING if settings.raw.get(field) is not None]
        found += _named(settings)
        if "added_tokens_decoder" in settings.raw:
            found += _decoder(settings.table("added_tokens_decoder"))
    if (path := folder / "special_tokens_map.json").exists():
        settings = read_fields(path)
        settings.only({*_SPECIAL, *_MORE_SPECIAL})
        found += _named(settings)
    return Settings(found, agreeing)


def check_settings(settings: Settings, tokenizer: BytePairTokenizer) -> None:
    """Refuse a special token that is not an added token of the tokenizer, and what the tokenizer does otherwise."""
    does = {
        "add_prefix_space": tokenizer.prefix_space,
        "add_bos_token": bool(tokenizer.before),
        "add_eos_token": bool(tokenizer.after),
    }
    for file, field, value in settings.agreeing:
        if does[field] != value:
            raise file.error(field, f"is {described(value)}, which is not what the tokenizer does by its own file")
    for file, field, content, id in settings.special:
        if tokenizer.added.get(content) is None or id not in (None, tokenizer.added[content]):
            raise file.error(field, f"names {described(content)}, which is not an added token of this tokenizer with that id")


def _named(settings: Fields) -> Iterator[Special]:
    for field in _SPECIAL:
        if settings.raw.get(field) is not None:
            yield Special(settings, field, _content(settings, field, settings.raw[field]))
    for field in _MORE_SPECIAL:
        held = settings.raw.get(field)
        entries = held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, list) else None
        if entries is None and held is not None:
            raise settings.error(field, f"is {described(held)}, not a list or a table of tokens")
        for key, entry in entries or ():
            place = f"{field}.{described(key)}"
            yield Special(settings, place, _content(settings, place, entry))


def _decoder(table: Fields) -> Iterator[Special]:
    for id, entry in table.raw.items():
        if not (id.isascii() and id.isdigit() and len(id) <= 9):
            raise table.error(described(id), "is not the id of a token")
        yield Special(table, id, _content(table, id, entry), int(id))


def _content(file: Fields, field: str, entry: object) -> str:
    """A token as it is written: a text, or a table with its content and what may stand around it."""
    if isinstance(entry, str):
        return entry
    if not isinstance(entry, dict):
        raise file.error(field, f"is {described(entry)}, not a token")
    token = file.inner(field, entry)
    token.only({"__type", "content", "id", "lstrip", "normalized", "rstrip", "single_word", "special"})
    for flag in ("lstrip", "rstrip", "single_word"):
        token.must_be(flag, _OFF)
    return token.text("content")
