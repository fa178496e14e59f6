"""Norms of matrices side by side, from Gram matrices that are added up (Lemma 16)."""

from __future__ import annotations

import numpy as np
import pytest

from exactformer.certified import bounds, norms, weights


@pytest.mark.parametrize("seed", range(6))
def test_every_piece_and_the_whole_are_bounded_and_hardly_more(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = int(random.integers(1, 20))
    pieces = [random.standard_normal((rows, rows + int(random.integers(0, 30)))) * 10.0 ** random.integers(-9, 9) for _ in range(2)]
    each, whole = norms.spectral_beside(iter(pieces), 0.0)
    true = [np.linalg.norm(piece, 2) for piece in (*pieces, np.concatenate(pieces, axis=1))]
    for bound, norm in zip((*each, whole), true, strict=True):
        assert norm <= bound <= 1.03 * norm


def test_rounding_and_slack_are_those_of_all_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of two Gram matrices has the terms of both, and the norm of both."""
    asked = []
    monkeypatch.setattr(norms, "_bounds_of", lambda gram, terms, norm: asked.append((gram[0, 0], terms, norm)) or [norm**2])
    each, whole = norms.spectral_beside(iter((np.array([[3.0, 0.0]]), np.array([[0.0, 0.0, 4.0]]))), 0.5)
    assert [(gram, terms) for gram, terms, _ in asked] == [(9.0, 2), (16.0, 3), (25.0, 5)]
    assert np.allclose([*each, whole], [4.5, 6.0, 7.5])
    assert whole >= 7.5
    assert asked[2][2] >= 5


def test_a_matrix_knows_the_norms_of_its_pieces_with_that_of_the_whole() -> None:
    random = np.random.default_rng(0)
    arrays = tuple(random.standard_normal((5, 8)) for _ in range(2))
    gain = weights.Vector(random.standard_normal(5), "gain")
    one, other = (weights.Matrix(arrays, "w", weights.VerifiedNorms()) for _ in range(2))
    one.norm(None, gain)
    assert sorted(one.verified.as_dict()) == ["w[0|gain]", "w[1|gain]", "w[side by side|gain]"]
    for piece in range(2):
        assert one.norm(piece, gain) == pytest.approx(other.norm(piece, gain), rel=1e-9)
        assert one.norm(piece, gain) >= np.linalg.norm(gain.floats[:, None] * arrays[piece], 2)
    assert bounds.UP > 1


@pytest.mark.parametrize("rows", [9, 3])
def test_columns_some_at_a_time_are_those_of_all_pieces(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_PART", 20)
    random = np.random.default_rng(rows)
    arrays = tuple(random.standard_normal((rows, width)) for width in (4, 1, 6))
    matrix = weights.Matrix(arrays, "w", weights.VerifiedNorms())
    parts = list(matrix.dense())
    assert len(parts) > 1
    assert np.array_equal(np.concatenate(parts, axis=1), np.concatenate(arrays, axis=1))
    assert sum(part.stacked.shape[1] for part in matrix.sliced()) == 11
