"""Texts to tokens and back: byte pairs, words, characters."""

from exactformer.tokenizers.byte_pair_tokenizer import BytePairTokenizer
from exactformer.tokenizers.folder import load_tokenizer
from exactformer.tokenizers.packaged import gpt2
from exactformer.tokenizers.tokenizer import Merge, Piece, Tokenizer, TokenizerError
from exactformer.tokenizers.words import CharacterTokenizer, WordTokenizer

__all__ = [
    "BytePairTokenizer",
    "CharacterTokenizer",
    "Merge",
    "Piece",
    "Tokenizer",
    "TokenizerError",
    "WordTokenizer",
    "gpt2",
    "load_tokenizer",
]
