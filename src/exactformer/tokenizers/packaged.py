"""GPT-2's own tokenizer. Its ranks are data of this package, so nothing is fetched from anywhere."""

from __future__ import annotations

import gzip
from base64 import b64decode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from zlib import error as ZlibError

from exactformer.tokenizers.byte_pair_tokenizer import BytePairTokenizer
from exactformer.tokenizers.tokenizer import TokenizerError

_SIZE = 835_554
_SHA256 = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"  # of gpt2.tiktoken, before compression


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
    tokens = [b64decode(line.split(b" ")[0]) for line in _ranks().splitlines()]
    return BytePairTokenizer(tokens, range(len(tokens)), [{"<|endoftext|>": len(tokens)}])


def _ranks() -> bytes:
    """The file gpt2.tiktoken: on line n the token of rank n in base64, a space, and n."""
    name = "gpt2.tiktoken.gz"
    try:
        with files(__package__).joinpath("data", name).open("rb") as packed, gzip.open(packed) as file:
            data = file.read(_SIZE + 1)
    except (OSError, EOFError, ZlibError) as error:
        raise TokenizerError(f"{name}: the tokenizer data of this package cannot be read ({error}): install it again") from None
    if sha256(data).hexdigest() != _SHA256:
        raise TokenizerError(f"{name}: the tokenizer data of this package is damaged (its SHA-256 is wrong): install it again")
    return data
