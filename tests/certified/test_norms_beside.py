"""Norms of matrices side by side, from Gram matrices that are added up (Lemma 16)."""

from __future__ import annotations

import numpy as np
import pytest

from exactformer.certified import bounds, norms, weights


@pytest.mark.parametrize("seed", range(6))
def test_every_piece_and_the_whole_are_bounded_and_hardly_more(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = int(random.integers(1, 150))
    pieces = [random.standard_normal((rows, rows + int(random.integers(0, 30)))) * 10.0 ** random.integers(-9, 9) for _ in range(2)]
    grams = [norms.Gram.of(np.array_split(piece, 3, axis=1)) for piece in pieces]
    bounds_ = [gram.spectral() for gram in (*grams, grams[0].beside(grams[1]))]
    true = [np.linalg.norm(piece, 2) for piece in (*pieces, np.concatenate(pieces, axis=1))]
    for bound, norm in zip(bounds_, true, strict=True):
        assert norm <= bound <= 1.03 * norm


def test_rounding_and_slack_are_those_of_all_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of two Gram matrices has the terms of both, and the norm of both; so has one that is found part by part."""
    asked = []
    monkeypatch.setattr(norms, "_bounds_of", lambda grams, terms, norm: asked.append((grams[0, 0, 0], terms, norm[0])) or norm**2)
    parts = np.array([[3.0, 0.0]]), np.array([[0.0, 0.0, 4.0]])
    for gram in (norms.Gram.of([parts[0]]).beside(norms.Gram.of([parts[1]])), norms.Gram.of(parts)):
        whole = gram.spectral(2.5)
        assert asked[-1][:2] == (25.0, 5)
        assert whole == pytest.approx(7.5)
        assert whole >= 7.5
        assert asked[-1][2] >= 5


@pytest.mark.parametrize("shape", [(4, 30, 6), (4, 6, 30), (3, 150, 100)])
def test_heads_are_bounded_each_by_itself(shape: tuple[int, ...]) -> None:
    """Also where one of them has a norm that is hard to guess, and where one has none."""
    random = np.random.default_rng(1)
    matrices = random.standard_normal(shape) * 10.0 ** random.integers(-9, 9, (shape[0], 1, 1))
    matrices[0] = np.linalg.qr(matrices[0])[0] if shape[1] > shape[2] else matrices[0]
    for bound, matrix in zip(norms.spectral_each(matrices, 0.0), matrices, strict=True):
        assert np.linalg.norm(matrix, 2) <= bound <= 1.03 * np.linalg.norm(matrix, 2)
    wider = norms.spectral_each(matrices, 1.0)
    assert all(bound >= np.linalg.norm(a, 2) + np.linalg.norm(a) for bound, a in zip(wider, matrices, strict=True))
    assert wider[0] < 1.03 * np.linalg.norm(matrices[0], 2) + 1.01 * np.linalg.norm(matrices[0])
    matrices[1, 2, 3] = np.inf
    found = norms.spectral_each(matrices, 0.0)
    assert np.isfinite([found[0], *found[2:]]).all()
    assert found[1] == np.inf


def test_one_head_whose_guess_is_too_low_leaves_the_others_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    matrices = np.random.default_rng(2).standard_normal((3, 8, 5))
    before = norms.spectral_each(matrices, 0.0)
    full, low = norms._largest_eigenvalue, np.trace(matrices[1].T @ matrices[1])
    monkeypatch.setattr(norms, "_largest_eigenvalue", lambda gram: full(gram) * (0.98 if np.isclose(np.trace(gram), low) else 1))
    after = norms.spectral_each(matrices, 0.0)
    assert after[0] == pytest.approx(before[0], rel=1e-9)
    assert after[2] == pytest.approx(before[2], rel=1e-9)
    assert np.linalg.norm(matrices[1], 2) <= after[1] < 1.03 * before[1]


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
