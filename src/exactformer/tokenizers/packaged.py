"""GPT-2's own tokenizer. Its merges are data of this package, so nothing is fetched from anywhere."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from zlib import error as ZlibError

from exactformer.tokenizers.byte_pair_tokenizer import BytePairTokenizer
from exactformer.tokenizers.byte_pairs import LETTERS
from exactformer.tokenizers.tokenizer import TokenizerError

_SIZE = 456_304
_SHA256 = "ac33235097fe06d4a8fff0feac994644809e6eb6ab70669e1e9fd40ae032428e"  # of the merges, before compression


@cache
def gpt2() -> BytePairTokenizer:
    """The tokenizer of GPT-2, of every size.

    >>> gpt2().encode("hello my name is")
    [31373, 616, 1438, 318]
    >>> gpt2().decode([31373, 616, 1438, 318, 198])
    'hello my name is\\n'
    >>> [piece.name for piece in gpt2().pieces("hello my name is")]
    ['hello', 'Ġmy', 'Ġname', 'Ġis']
    """
    pairs = [(left, right) for left, _, right in (line.partition(" ") for line in _merges().decode("utf-8").split("\n") if line)]
    names = [*LETTERS, *(left + right for left, right in pairs)]
    return byte_level({name: id for id, name in enumerate(names)}, pairs, {"<|endoftext|>": len(names)})


def byte_level(vocab: Mapping[str, int], pairs: Sequence[tuple[str, str]], added: Mapping[str, int]) -> BytePairTokenizer:
    """A tokenizer of bytes, whose texts are cut as GPT-2 cuts them before any merge."""
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel

    from tokenizers import AddedToken, Tokenizer

    library = Tokenizer(BPE(dict(vocab), list(pairs)))
    library.pre_tokenizer = ByteLevel(add_prefix_space=False)
    library.add_special_tokens([AddedToken(content, normalized=False) for content in sorted(added, key=lambda c: added[c])])
    for content, id in added.items():
        if library.token_to_id(content) != id:
            raise TokenizerError(
                f"the added token {content!r} has the id {id}, where the next one is {library.token_to_id(content)}"
            )
    return BytePairTokenizer(library, vocab, pairs, added)


def _merges() -> bytes:
    """On line n the two parts of merge n, with a space between them."""
    name = "gpt2.merges.gz"
    try:
        with files(__package__).joinpath("data", name).open("rb") as packed, gzip.open(packed) as file:
            data = file.read(_SIZE + 1)
    except (OSError, EOFError, ZlibError) as error:
        raise TokenizerError(f"{name}: the tokenizer data of this package cannot be read ({error}): install it again") from None
    if sha256(data).hexdigest() != _SHA256:
        raise TokenizerError(f"{name}: the tokenizer data of this package is damaged (its SHA-256 is wrong): install it again")
    return data
