"""The nearest correlation matrix, held against published examples."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.synthesis.drafts.columns import completed, nearest_correlation


def test_the_example_of_higham() -> None:
    """Higham (2002), section 4: the tridiagonal matrix of ones."""
    bad = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    found = nearest_correlation(bad)
    assert found[0, 1] == pytest.approx(0.7607, abs=5e-5)
    assert found[0, 2] == pytest.approx(0.1573, abs=5e-5)
    assert np.linalg.norm(found - bad) == pytest.approx(0.5278, abs=5e-5)
    assert np.linalg.eigvalsh(found)[0] >= -1e-12


def test_two_columns_by_hand() -> None:
    """Beyond ±1 the nearest is ±1."""
    assert nearest_correlation(np.array([[1, 1.4], [1.4, 1]]))[0, 1] == pytest.approx(1)


def test_a_correlation_matrix_is_its_own_nearest() -> None:
    good = np.array([[1.0, 0.5, -0.2], [0.5, 1.0, 0.3], [-0.2, 0.3, 1.0]])
    assert np.allclose(nearest_correlation(good), good, atol=1e-9)


def test_what_is_unknown_is_filled_in_and_what_is_known_stays() -> None:
    known = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], bool)
    chain = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    found = completed(chain, known)
    assert found[0, 1] == 0.9
    assert found[1, 2] == 0.9
    # By hand: 0.81 - 0.19 <= r <= 0.81 + 0.19.
    assert 0.62 - 1e-6 <= found[0, 2] <= 1
    assert np.linalg.eigvalsh(found)[0] >= -1e-8


def test_unknown_entries_do_not_pull() -> None:
    known = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], bool)
    bad = np.array([[1.0, 1.2, 0.0], [1.2, 1.0, 1.2], [0.0, 1.2, 1.0]])
    found = nearest_correlation(bad, known)
    assert found[0, 1] > nearest_correlation(bad)[0, 1]
    assert found[0, 1] == pytest.approx(1, abs=0.01)
