"""Whether one flexible kernel does: counts, means, and what is left out."""

import pytest

from gpu_engine.findings.batched.flexible import Flexible, flexible, of_smaller_sizes
from gpu_engine.findings.batched.outlook import FLEXIBLE
from gpu_engine.records import Measurement
from tests.samples.batched import multiplied, shown


def batch(matrix: str, rate: float, library: float = 100.0, best: float = 0.0, **fields: object) -> list[Measurement]:
    """A batch with the flexible kernel, a library kernel, and a third one."""
    rates = {FLEXIBLE: rate, "cusparse/best": library, "sliced/lanes": best or rate / 2}
    return [multiplied(kernel, gflops, matrix=matrix, **fields) for kernel, gflops in rates.items()]  # type: ignore[arg-type]


def only(*measurements: Measurement) -> Flexible:
    (found,) = flexible(shown(*measurements))
    return found


def test_counts_sum_to_the_batches() -> None:
    found = only(*batch("west", 200), *batch("nos3", 50), *batch("r2", 100), *batch("r16", 150, best=300))
    assert (found.verdicts["faster"], found.verdicts["same"], found.verdicts["slower"]) == (2, 1, 1)
    assert sum(found.verdicts.values()) == len(found.batches) == 4
    assert found.wins == 2
    assert found.speedup is not None
    assert abs(found.speedup - (2 * 0.5 * 1 * 1.5) ** 0.25) < 1e-9


def test_it_does_if_it_is_near_the_fastest_or_wins_most() -> None:
    near = only(*batch("west", 200, best=202), *batch("nos3", 200, best=202))
    assert near.does
    assert near.slowdown < 1.02
    assert only(*batch("west", 200), *batch("nos3", 200), *batch("r2", 50, best=200)).does
    assert not only(*batch("west", 100, best=200), *batch("nos3", 100, best=200)).does


def test_noisy_batches_and_batches_without_it_do_not_count() -> None:
    found = only(*batch("west", 200), *batch("nos3", 50, aa_gap=0.9), *batch("r2", 100)[1:])
    assert len(found.batches) == 1
    assert found.noisy == 1
    assert flexible(shown(*batch("west", 200)[1:])) == []


def test_smaller_batches_are_compared_by_size() -> None:
    sizes = {10: 50, 100: 100, 1000: 200}
    data = shown(*(m for size, rate in sizes.items() for m in batch("west", rate, batch_size=size)))
    (largest,) = flexible(data)
    by_size = of_smaller_sizes(data, largest)
    assert {size: each.speedup for size, each in by_size.items()} == pytest.approx({10: 0.5, 100: 1.0})
    assert [next(iter(each.verdicts)) for each in by_size.values()] == ["slower", "same"]


def test_without_a_library_there_is_no_speedup() -> None:
    found = only(batch("west", 200)[0], batch("west", 200)[2])
    assert found.speedup is None
    assert not found.verdicts
    assert found.does
