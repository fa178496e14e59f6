"""Decoding: ranked order, temperature, top-k, top-p, drawing, and a continuation token by token."""

from exactformer.decoding.distribution import Distribution, distribution, ranked
from exactformer.decoding.generating import Chosen, End, generate
from exactformer.decoding.strategy import GREEDY, DecodingError, Strategy

__all__ = ["GREEDY", "Chosen", "DecodingError", "Distribution", "End", "Strategy", "distribution", "generate", "ranked"]
