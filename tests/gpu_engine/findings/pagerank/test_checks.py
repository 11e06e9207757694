"""The checks of the ranks of a run: which limits they have, and what breaks them."""

from typing import Any

import pytest

from gpu_engine.findings.pagerank.checks import ALL_EQUAL, Check, are_equal, checks
from gpu_engine.findings.pagerank.runs import run_groups
from tests.samples.pagerank import LUXEMBOURG, ran, shown

KERNEL = "csr/thread+cpms2"
ALL = ["residual", "mass", "distance", "top"]


def checked(axes: tuple[tuple[str, str], ...] = (), **fields: Any) -> dict[str, Check]:
    """The checks of a run in segments beside one in fp64 with the top pages 7, 3, 12."""
    full, other = ran("csr/thread+fp64", 113, 0.1, axes=axes), ran(KERNEL, (47, 66), 0.08, axes=axes, **fields)
    (group,) = run_groups(shown(full, other))
    run = next(run for run in group.runs if run.measurement.kernel == KERNEL)
    return {check.name: check for check in checks(group, run, LUXEMBOURG.n_rows)}


def test_right_ranks_keep_all_limits() -> None:
    found = checked()
    assert list(found) == ALL
    assert all(check.holds for check in found.values())
    assert "3 of 3" in found["top"].value


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("residual", {"residual": 1.1e-10}),
        ("mass", {"mass_error": 7e-10}),
        ("distance", {"distance": 1.4e-9}),
        ("top", {"top_pages": (3, 7, 12)}),
        ("top", {"top_pages": (7, 3, 99), "top_ranks": (0.002, 0.0015, 0.00101)}),
    ],
)
def test_each_limit_can_be_missed_alone(name: str, fields: dict[str, Any]) -> None:
    found = checked(**fields)
    assert [each for each, check in found.items() if not check.holds] == [name]


def test_limits_follow_from_the_residual() -> None:
    """Ranks with a residual below ε are within ε/(1 − δ) of the exact ones, so two of them within twice that."""
    assert all(check.holds for check in checked(mass_error=6.6e-10, distance=1.3e-9).values())


def test_pages_of_equal_rank_may_change_places() -> None:
    found = checked(top_pages=(7, 99, 3), top_ranks=(0.002, 0.0015, 0.0015 - 1e-10))
    assert not found["top"].holds, "page 3 has a higher rank than the third one in fp64"
    tied = checked(top_pages=(7, 3, 99), top_ranks=(0.002, 0.0015, 0.001 + 1e-10))
    assert tied["top"].holds
    assert "2 of 3" in tied["top"].value


def test_equal_ranks_have_no_order() -> None:
    """On a regular grid all pages may change places, which is neither 0 nor 100 % of them."""
    equal = {"top_ranks": (0.001, 0.001, 0.001 - 1e-10)}
    full = ran("csr/thread+fp64", 113, 0.1, **equal)  # type: ignore[arg-type]
    other = ran(KERNEL, (47, 66), 0.08, **equal, top_pages=(99, 98, 97), top_k_slack=1e-9)  # type: ignore[arg-type]
    (group,) = run_groups(shown(full, other))
    run = next(run for run in group.runs if run.measurement.kernel == KERNEL)
    found = {check.name: check for check in checks(group, run, LUXEMBOURG.n_rows)}
    assert found["top"].holds
    assert found["top"].value == ALL_EQUAL
    assert not are_equal((0.002, 0.0015, 0.001), 1e-9)


def test_ranks_that_are_too_close_have_no_top() -> None:
    assert list(checked(top_k_slack=0.01)) == ALL[:-1]


def test_checks_that_the_parameters_do_not_allow_are_left_out() -> None:
    assert list(checked((("damping", "1"),))) == ALL[:1]
    assert list(checked((("dangling", "ignore"),))) == ["residual", "distance", "top"]
    assert list(checked(residual=None)) == []
