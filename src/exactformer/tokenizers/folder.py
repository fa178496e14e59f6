"""The tokenizer of a model folder: tokenizer.json as Hugging Face writes it for GPT-2, or vocab.json and merges.txt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from exactformer.tokenizers.byte_pair_tokenizer import BytePairTokenizer
from exactformer.tokenizers.byte_pairs import merges, spelled, unspelled
from exactformer.tokenizers.fields import Fields, read_fields, read_text
from exactformer.tokenizers.settings import check_special, read_settings
from exactformer.tokenizers.tokenizer import TokenizerError, brief

_TOP = ("version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model")
_MODEL = (
    "type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges",
    "vocab", "merges",
)  # fmt: skip
_BYTE_LEVEL = ("type", "add_prefix_space", "trim_offsets", "use_regex")
_ADDED = ("id", "content", "single_word", "lstrip", "rstrip", "normalized", "special")
_END = "<|endoftext|>"
_MAX_BYTES = 2 * 2**20  # of all tokens together, which are merged on reading; GPT-2's have 320,814


def load_tokenizer(folder: str | Path) -> BytePairTokenizer:
    """The tokenizer that a model folder holds.

    >>> load_tokenizer("no-such-folder")
    Traceback (most recent call last):
    exactformer.tokenizers.tokenizer.TokenizerError: no-such-folder: has neither tokenizer.json nor vocab.json and merges.txt
    """
    folder = Path(folder)
    special = read_settings(folder)
    if (path := folder / "tokenizer.json").exists():
        tokenizer = read_tokenizer_json(path)
    elif (folder / "vocab.json").exists() or (folder / "merges.txt").exists():
        tokenizer = read_vocab_and_merges(folder / "vocab.json", folder / "merges.txt", folder / "added_tokens.json")
    else:
        raise TokenizerError(f"{folder}: has neither tokenizer.json nor vocab.json and merges.txt")
    check_special(special, tokenizer)
    return tokenizer


def read_tokenizer_json(path: Path) -> BytePairTokenizer:
    """A tokenizer.json with byte-level byte-pair encoding; settings that would change an id are refused, not ignored."""
    top = read_fields(path)
    top.only(_TOP)
    for field in ("truncation", "padding"):
        top.must_be(field, (None,))
    model = top.table("model")
    model.must_be("type", ("BPE",), default="BPE")
    model.only(_MODEL)
    top.must_be("normalizer", (None,))
    before = top.table("pre_tokenizer")
    before.must_be("type", ("ByteLevel",))
    before.only(_BYTE_LEVEL)
    before.must_be("add_prefix_space", (False,))
    before.must_be("use_regex", (True,), default=True)
    top.table("decoder").must_be("type", ("ByteLevel",))
    if top.raw.get("post_processor") is not None:
        _adds_nothing(top.table("post_processor"))
    model.must_be("dropout", (None, 0.0))
    model.must_be("continuing_subword_prefix", (None, ""))
    model.must_be("end_of_word_suffix", (None, ""))
    model.must_be("byte_fallback", (False,), default=False)
    model.must_be("ignore_merges", (False,), default=False)

    pairs = {f"merges.{n}": _pair(model, f"merges.{n}", merge) for n, merge in enumerate(model.items("merges"))}
    early: dict[str, int] = {}  # Hugging Face looks for these first, and for the others in what is left
    late: dict[str, int] = {}
    for n, entry in enumerate(top.items("added_tokens", [])):
        if not isinstance(entry, dict):
            raise top.error(f"added_tokens.{n}", f"is {brief(entry)}, not a table")
        token = Fields(entry, path, f"added_tokens.{n}.")
        token.only(_ADDED)
        for field in ("single_word", "lstrip", "rstrip"):
            token.must_be(field, (False,), default=False)
        content = token.text("content")
        if content in early or content in late:
            raise token.error("content", f"is {brief(content)}, which an added token before it has")
        (late if token.flag("normalized", True) else early)[content] = token.integer("id")
    return _tokenizer(model.table("vocab"), model, pairs, top, [early, late])


def read_vocab_and_merges(vocab_path: Path, merges_path: Path, added_path: Path | None = None) -> BytePairTokenizer:
    """The older pair of files, and added_tokens.json if it is there. <|endoftext|> counts as added, as in transformers."""
    vocab, listed = read_fields(vocab_path), Fields({}, merges_path)
    pairs = {
        f"line {n}": _pair(listed, f"line {n}", line.removesuffix("\r"))
        for n, line in enumerate(read_text(merges_path).split("\n"), 1)
        if line.strip() and not line.startswith("#version")
    }
    more = read_fields(added_path) if added_path is not None and added_path.exists() else vocab
    added = {_END: vocab.integer(_END)} if _END in vocab.raw else {}
    if more is not vocab:
        added |= {content: more.integer(content) for content in more.raw}
    return _tokenizer(vocab, listed, pairs, more, [added])


def _adds_nothing(after: Fields) -> None:
    """What follows the model must put no tokens around the text: ByteLevel never does, a template may."""
    after.must_be("type", ("ByteLevel", "TemplateProcessing"))
    if after.raw["type"] == "TemplateProcessing":
        single = after.items("single")
        if len(single) != 1 or not isinstance(single[0], dict) or list(single[0]) != ["Sequence"]:
            raise after.error("single", "puts tokens around the text, which is not supported")


def _pair(place: Fields, field: str, merge: object) -> tuple[str, str]:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if isinstance(parts, list) and len(parts) == 2 and all(isinstance(part, str) and part for part in parts):
        return parts[0], parts[1]
    raise place.error(field, f"is {brief(merge)}, not two tokens")


def _tokenizer(
    vocab: Fields, listed: Fields, pairs: Mapping[str, tuple[str, str]], more: Fields, added: Sequence[Mapping[str, int]]
) -> BytePairTokenizer:
    """From a table {spelling: id}, merges by their places in the file `listed`, and added tokens of the file `more`."""
    ids = _ids(vocab)
    tokens = [bytes([byte]) for byte in range(256)]
    for token in tokens:
        if spelled(token) not in ids:
            raise vocab.error(repr(spelled(token)), f"is missing, the token of the byte {token[0]:#04x}")
    for field, (left, right) in pairs.items():
        made = left + right
        for part in (left, right, made):
            if part not in ids:
                raise listed.error(field, f"makes {brief(made)}, but {brief(part)} is not in the vocabulary")
        data = unspelled(made)
        if data is None:
            raise listed.error(field, f"makes {brief(made)}, which does not spell bytes")
        tokens.append(data)
    if (size := sum(map(len, tokens))) > _MAX_BYTES:
        raise TokenizerError(f"{listed.path}: the merges make tokens of {size:,} bytes together, more than {_MAX_BYTES:,}")
    _check_last_merges(listed, pairs, tokens)
    token_ids = [ids[spelled(token)] for token in tokens]
    _check_ids(vocab, ids, more, added, dict(zip(token_ids, tokens, strict=True)))
    return BytePairTokenizer(tokens, token_ids, added, {id: unspelled(name) or _utf8(vocab, name) for name, id in ids.items()})


def _ids(vocab: Fields) -> dict[str, int]:
    for token, id in vocab.raw.items():
        if type(id) is not int or not token:
            raise vocab.error(brief(token), f"has the id {brief(id)}: tokens are texts that are not empty, and ids whole numbers")
    return vocab.raw


def _check_last_merges(listed: Fields, pairs: Mapping[str, tuple[str, str]], tokens: Sequence[bytes]) -> None:
    """The bytes of each token must come to it, at the last by its listed pair; then tiktoken does the same (see byte_pairs.py)."""
    ranks = {token: rank for rank, token in enumerate(tokens)}
    for token, (rank, (field, (left, right))) in zip(tokens[256:], enumerate(pairs.items(), 256), strict=True):
        if ranks[token] != rank:
            raise listed.error(field, f"makes {brief(left + right)}, which another merge makes too")
        parts, made = merges(token, ranks)
        if len(parts) > 1 or (made[-1].left, made[-1].right) != (unspelled(left), unspelled(right)):
            raise listed.error(field, f"makes {brief(left + right)}, which its bytes do not come to in this way")


def _check_ids(
    vocab: Fields, ids: Mapping[str, int], more: Fields, added: Sequence[Mapping[str, int]], merged: Mapping[int, bytes]
) -> None:
    """The ids of all tokens are 0, 1, 2, …, each once, and an added token does not contradict the vocabulary."""
    names = {id: name for name, id in ids.items()}
    for name, id in ids.items():
        if names[id] != name:
            raise vocab.error(brief(name), f"has the id {brief(id)}, and so has {brief(names[id])}")
    for content, id in ((content, id) for table in added for content, id in table.items()):
        data = _utf8(more, content)
        if not data or ids.get(content, id) != id or merged.get(id, data) != data or names.get(id, content) != content:
            raise more.error("added token", f"{brief(content)} with the id {brief(id)} contradicts the vocabulary")
        names[id] = content
    for id in range(len(names)):
        if id not in names:
            raise TokenizerError(f"{vocab.path}: of {len(names)} tokens none has the id {id}: ids are 0, 1, 2, …")


def _utf8(place: Fields, token: str) -> bytes:
    try:
        return token.encode("utf-8")
    except UnicodeEncodeError:
        raise place.error("token", f"{brief(token)} is not Unicode text") from None
