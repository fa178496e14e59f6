"""The peers: independent implementations of one forward pass, each written as well as its library allows."""

from benchmarks.peers.balls import ARB
from benchmarks.peers.exact import EXACTFORMER, IN_FULL
from benchmarks.peers.floating import MPMATH
from benchmarks.peers.peer import DIGITS, Answer, Peer
from benchmarks.peers.symbolic import SYMPY

__all__ = ["ARB", "DIGITS", "EXACTFORMER", "IN_FULL", "MPMATH", "SYMPY", "Answer", "Peer"]
