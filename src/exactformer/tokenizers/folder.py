"""The tokenizer of a model folder: tokenizer.json as Hugging Face writes it, or vocab.json and merges.txt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from exactformer.reading import Decimal, described
from exactformer.tokenizers.byte_pair_tokenizer import BytePairTokenizer
from exactformer.tokenizers.byte_pairs import spelled, unspelled
from exactformer.tokenizers.components import around
from exactformer.tokenizers.fields import Fields, fields_of, read_bytes, read_fields, read_text
from exactformer.tokenizers.lists import LISTS, listed_tokenizer
from exactformer.tokenizers.packaged import byte_level
from exactformer.tokenizers.settings import check_settings, read_settings
from exactformer.tokenizers.tokenizer import Tokenizer, TokenizerError

_TOP = ("version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model")
_MODEL = (
    "type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges",
    "vocab", "merges",
)  # fmt: skip
_ADDED = ("id", "content", "single_word", "lstrip", "rstrip", "normalized", "special")
_END = "<|endoftext|>"


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """The tokenizer that a model folder holds.

    >>> load_tokenizer("no-such-folder")
    Traceback (most recent call last):
    exactformer.tokenizers.tokenizer.TokenizerError: no-such-folder: has neither tokenizer.json nor vocab.json and merges.txt
    """
    folder = Path(folder)
    settings = read_settings(folder)
    if not has_byte_pairs(folder) and (listed := listed_tokenizer(folder)) is not None:
        return listed
    if (path := folder / "tokenizer.json").exists():
        tokenizer = read_tokenizer_json(path)
    elif (folder / "vocab.json").exists() or (folder / "merges.txt").exists():
        tokenizer = read_vocab_and_merges(folder / "vocab.json", folder / "merges.txt", folder / "added_tokens.json")
    else:
        raise TokenizerError(f"{folder}: has neither tokenizer.json nor vocab.json and merges.txt")
    check_settings(settings, tokenizer)
    return tokenizer


def has_byte_pairs(folder: Path) -> bool:
    return any((folder / file).exists() for file in ("tokenizer.json", "vocab.json", "merges.txt"))


def has_tokenizer(folder: Path) -> bool:
    """Is there a file that says how a text is cut into tokens?"""
    return has_byte_pairs(folder) or any((folder / file).exists() for file in LISTS)


def read_tokenizer_json(path: Path) -> BytePairTokenizer:
    """A tokenizer.json with byte-pair encoding, of bytes or of characters that fall back to bytes; what is not known is refused."""
    from tokenizers import Tokenizer as Library

    data = read_bytes(path)
    top = fields_of(data, path)
    top.only(_TOP)
    for field in ("truncation", "padding"):
        top.must_be(field, (None,))
    model = top.table("model")
    model.must_be("type", ("BPE",), default="BPE")
    model.only(_MODEL)
    model.must_be("dropout", (None, Decimal("0.0")))
    for field in ("continuing_subword_prefix", "end_of_word_suffix"):
        model.must_be(field, (None, ""))
    for field in ("byte_fallback", "ignore_merges", "fuse_unk"):
        model.flag(field, False)
    parts = around(top)
    vocab = model.table("vocab")
    ids = _ids(vocab)
    if parts.bytes:
        model.must_be("byte_fallback", (False,), default=False)
        _check_bytes(vocab, ids, spelled)
    else:
        model.must_be("byte_fallback", (True,), default=False)
        if not parts.fallback:
            raise top.error("decoder", "has no ByteFallback, though the model falls back to bytes")
        _check_bytes(vocab, ids, lambda byte: f"<0x{byte[0]:02X}>")
    pairs = {f"merges.{n}": _pair(model, f"merges.{n}", merge) for n, merge in enumerate(model.items("merges"))}
    _check_pairs(model, ids, pairs, parts.bytes)
    added = _added(top)
    _check_ids(vocab, ids, top, added, parts.bytes)
    for id in (*parts.before, *parts.after):
        if id >= len(ids.keys() | added.keys()):
            raise top.error("post_processor", f"puts the id {described(id)} around the text, which no token has")
    try:
        library = Library.from_buffer(data)
    except Exception as error:  # whatever the library raises
        raise TokenizerError(f"{path}: is not read by the tokenizers library ({described(str(error))})") from None
    for content, id in added.items():
        if library.token_to_id(content) != id:
            raise top.error("added token", f"{described(content)} has the id {id}, where its place in the list makes it another")
    return BytePairTokenizer(
        library, ids, list(pairs.values()), added, "bytes" if parts.bytes else "characters", parts.before, parts.after,
        parts.prefix_space, parts.strips_space,
    )  # fmt: skip


def read_vocab_and_merges(vocab_path: Path, merges_path: Path, added_path: Path | None = None) -> BytePairTokenizer:
    """The older pair of files, and added_tokens.json if it is there. <|endoftext|> counts as added, as in transformers."""
    vocab, listed = read_fields(vocab_path), Fields({}, merges_path)
    pairs = {
        f"line {n}": _pair(listed, f"line {n}", line.removesuffix("\r"))
        for n, line in enumerate(read_text(merges_path).split("\n"), 1)
        if line.strip() and not line.startswith("#version")
    }
    more = read_fields(added_path) if added_path is not None and added_path.exists() else vocab
    added = {_END: vocab.whole(_END)} if _END in vocab.raw else {}
    if more is not vocab:
        added |= {content: more.whole(content) for content in more.raw}
    ids = _ids(vocab)
    _check_bytes(vocab, ids, spelled)
    _check_pairs(listed, ids, pairs, True)
    _check_ids(vocab, ids, more, added, True)
    return byte_level(ids, list(pairs.values()), added)


def _added(top: Fields) -> dict[str, int]:
    added: dict[str, int] = {}
    for token in top.tables("added_tokens", []):
        token.only(_ADDED)
        for field in ("single_word", "lstrip", "rstrip"):
            token.must_be(field, (False,), default=False)
        for field in ("normalized", "special"):
            token.flag(field, True)
        content = token.text("content")
        if content in added:
            raise token.error("content", f"is {described(content)}, which an added token before it has")
        added[content] = token.whole("id")
    return added


def _pair(place: Fields, field: str, merge: object) -> tuple[str, str]:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if isinstance(parts, list) and len(parts) == 2 and all(isinstance(part, str) and part for part in parts):
        return parts[0], parts[1]
    raise place.error(field, f"is {described(merge)}, not two tokens")


def _ids(vocab: Fields) -> dict[str, int]:
    for token, id in vocab.raw.items():
        if type(id) is not int or not token:
            raise vocab.error(
                described(token), f"has the id {described(id)}: tokens are texts that are not empty, and ids whole numbers"
            )
    return vocab.raw


def _check_bytes(vocab: Fields, ids: Mapping[str, int], name: Callable[[bytes], str]) -> None:
    """Every byte has a token: else a text might lose some of its characters."""
    for byte in range(256):
        if (token := name(bytes([byte]))) not in ids:
            raise vocab.error(repr(token), f"is missing, the token of the byte {byte:#04x}")


def _check_pairs(listed: Fields, ids: Mapping[str, int], pairs: Mapping[str, tuple[str, str]], of_bytes: bool) -> None:
    for field, (left, right) in pairs.items():
        made = left + right
        for part in (left, right, made):
            if part not in ids:
                raise listed.error(field, f"makes {described(made)}, but {described(part)} is not in the vocabulary")
        if of_bytes and unspelled(made) is None:
            raise listed.error(field, f"makes {described(made)}, which does not spell bytes")


def _check_ids(vocab: Fields, ids: Mapping[str, int], more: Fields, added: Mapping[str, int], of_bytes: bool) -> None:
    """The ids of all tokens are 0, 1, 2, …, each once, and an added token does not contradict the vocabulary."""
    names = {id: name for name, id in ids.items()}
    for name, id in ids.items():
        _utf8(vocab, name)
        if names[id] != name:
            raise vocab.error(described(name), f"has the id {described(id)}, and so has {described(names[id])}")
    for content, id in added.items():
        data = _utf8(more, content)
        other = unspelled(content) if of_bytes and content in ids else data
        if not data or ids.get(content, id) != id or names.get(id, content) != content or (other or data) != data:
            raise more.error("added token", f"{described(content)} with the id {described(id)} contradicts the vocabulary")
        names[id] = content
    for id in range(len(names)):
        if id not in names:
            raise TokenizerError(f"{vocab.file}: of {len(names)} tokens none has the id {id}: ids are 0, 1, 2, …")


def _utf8(place: Fields, token: str) -> bytes:
    try:
        return token.encode("utf-8")
    except UnicodeEncodeError:
        raise place.error("token", f"{described(token)} is not Unicode text") from None
