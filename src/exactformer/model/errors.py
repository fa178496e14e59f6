"""What is said of an input that does not fit."""

from __future__ import annotations


class InputError(ValueError):
    """Tokens that the model cannot take, or work for them that cannot be gone on from."""
