"""Transformers built by hand: a residual stream with named subspaces, and heads that say what they read, match and copy."""

from exactformer.circuits.circuit import Circuit, CircuitError
from exactformer.circuits.head import Head
from exactformer.circuits.matrices import CircuitTable, circuits, ov, qk
from exactformer.circuits.symmetry import interchangeable

__all__ = ["Circuit", "CircuitError", "CircuitTable", "Head", "circuits", "interchangeable", "ov", "qk"]
