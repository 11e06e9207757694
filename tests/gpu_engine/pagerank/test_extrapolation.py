"""Factors of an extrapolation: exact for two geometric components, and the last iterate without a valid combination."""

import numpy as np

from gpu_engine.pagerank.extrapolation import PAIRS, TERMS, factors


def dots_of(iterates: list[np.ndarray]) -> np.ndarray:
    changes = np.diff(iterates, axis=0)
    return np.array([[changes[i] @ changes[j]] for i, j in PAIRS])


def test_two_geometric_components_vanish() -> None:
    limit, slow = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, -1.0, 0.5, 0.0])
    slower = np.array([0.0, 1.0, 2.0, -1.0])
    iterates = [limit + 0.8**t * slow + 0.6**t * slower for t in range(TERMS + 1)]
    weights = factors(dots_of(iterates), np.array([True]))[:, 0]
    assert abs(weights.sum() - 1.0) < 1e-14
    assert np.abs(weights @ np.array(iterates[1:]) - limit).max() < 1e-6


def test_columns_without_a_combination_keep_the_last_iterate() -> None:
    last = np.zeros((TERMS, 3))
    last[-1] = 1.0
    dots = np.array([[0.0, np.nan, 1.0]] * len(PAIRS))
    np.testing.assert_array_equal(factors(dots, np.array([True, True, False])), last)


def test_parallel_changes_give_a_valid_combination() -> None:
    """The error has one component only, so that the system is singular without the regularization."""
    iterates = [1.0 + 0.9**t * np.array([1.0, -2.0]) for t in range(TERMS + 1)]
    weights = factors(dots_of(iterates), np.array([True]))[:, 0]
    assert np.abs(weights @ np.array(iterates[1:]) - 1.0).max() < 1e-3
