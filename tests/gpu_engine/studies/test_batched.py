"""Study `batched`: its cases, what it refuses, and that a run measures the batches of its cases."""

import dataclasses
from typing import Any

import pytest

from gpu_engine.batched import kernels_on
from gpu_engine.competitors.batches import peer_names
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators import generate
from gpu_engine.measure import Bench
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo, Measurement, Progress
from gpu_engine.studies.batched import ROWS_MAX, BatchedParams, BatchedStudy, default_batches, known_kernels
from tests.battery import dense

CPU = DeviceInfo("cpu", "cpu", "A CPU", 1, 1)
GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
LARGE, A, EMPTY, B = (
    MatrixInfo("large", "large", ROWS_MAX + 1, 1, 7),
    MatrixInfo("a", "a", ROWS_MAX, 1, 7),
    MatrixInfo("empty", "empty", 3, 3, 0),
    MatrixInfo("b", "b", 3, 3, 4),
)

TWO = ("scipy/loop", "csr/scalar")


def keys(*matrices: MatrixInfo, device: DeviceInfo = CPU, **params: Any) -> list[str]:
    """The cases of the study with these parameters."""
    parsed = parse_params(BatchedParams, params)
    return [case.key for case in BatchedStudy().cases(parsed, matrices, device)]


def test_copies_by_matrix_and_batch_then_mixed_batches_of_the_small_matrices() -> None:
    found = keys(LARGE, A, EMPTY, B, kernels=["csr/scalar"], caches=["warm"], batches=[20, 3])
    end = "operation=y=Ax+y"
    assert found == [
        *(
            f"{name}|csr/scalar|warm|batch={batch},compose=uniform,{end}"
            for name in ("large", "a", "empty", "b")
            for batch in (20, 3)
        ),
        *(f"a|csr/scalar|warm|batch={batch},compose=mixed,{end},mixture=2-c8687a08" for batch in (20, 3)),
    ]


def test_a_mixture_is_told_by_all_its_matrices_in_any_order() -> None:
    def mixtures(*matrices: MatrixInfo) -> set[str]:
        found = keys(*matrices, compose=["mixed"], batches=[5])
        assert all(key.startswith("a|") for key in found)
        return {key.rpartition("mixture=")[2] for key in found}

    c = MatrixInfo("c", "c", 3, 3, 4)
    different = [mixtures(*matrices) for matrices in ((A, B), (A, c), (A, B, c))]
    assert [len(names) for names in different] == [1, 1, 1]
    assert len(set.union(*different)) == 3
    # What is too large, or empty, is not in it.
    assert mixtures(A, B) == mixtures(B, LARGE, EMPTY, A, B)


def test_within_a_batch_kernels_in_the_order_of_the_lists_and_then_caches() -> None:
    found = keys(A, kernels=[*TWO, "coo/segmented"], batches=[5], operation="y = Ax")
    assert [key.rpartition("|")[0] for key in found] == [
        f"a|{name}|{cache}" for name in ("coo/segmented", "csr/scalar", "scipy/loop") for cache in ("cold", "warm")
    ]
    assert {key.rpartition("|")[2] for key in found} == {"batch=5,compose=uniform,operation=y=Ax"}


def test_without_a_choice_all_kernels_and_the_libraries_of_the_backend() -> None:
    ours, theirs = [kernel.name for kernel in kernels_on("cpu")], ["scipy/loop"]
    chosen: dict[str, Any] = {"batches": [5], "caches": ["warm"]}
    assert [key.split("|")[1] for key in keys(A, **chosen)] == ours + theirs
    ours, theirs = [kernel.name for kernel in kernels_on("cuda")], list(peer_names("cuda"))
    assert [key.split("|")[1] for key in keys(A, device=GPU, **chosen)] == ours + theirs
    # The algorithms behind the best one are sampled, but are no cases.
    assert [k.name for k in known_kernels("cuda")][len(ours) + len(theirs) - 1 :] == [
        f"cusparse/{name}" for name in ("csr_alg1", "csr_alg2", "coo_alg1", "coo_alg2", "sell_alg1")
    ]


def test_a_batch_that_is_given_twice_is_measured_once() -> None:
    assert len(keys(A, kernels=["csr/scalar"], caches=["warm"], batches=[5, 5])) == 1


def test_a_job_with_nothing_to_measure_is_refused() -> None:
    assert keys(A, B, compose=["mixed"]) != []
    for matrices in ((A,), (A, LARGE, EMPTY)):
        with pytest.raises(ParameterError, match=f"two matrices of at most {ROWS_MAX} rows"):
            keys(*matrices, compose=["mixed"])


def test_unknown_kernels_are_refused_with_those_of_the_backend() -> None:
    with pytest.raises(
        ParameterError, match=r"Unknown batch kernel 'csr/split' on cpu. Known kernels: .*csr/scalar.*scipy/loop"
    ):
        keys(A, kernels=["csr/split"])
    with pytest.raises(ParameterError, match=r"'cusparse/best' on cpu"):
        keys(A, kernels=["cusparse/best"])


@pytest.mark.parametrize("name", ["compose", "caches"])
def test_a_list_is_not_empty(name: str) -> None:
    empty: dict[str, Any] = {name: []}
    with pytest.raises(ParameterError, match=name):
        keys(A, **empty)


@pytest.mark.parametrize(
    ("rows", "nnz", "device", "batches"),
    [
        (900, 4322, CPU, (10, 100)),
        (900, 4322, GPU, (100, 1000)),
        # 32 MB hold 1000 of 33,554 bytes, and 4 GB 100 of 42.9 MB.
        (388, 2666, CPU, (100, 1000)),
        (389, 2667, CPU, (10, 100)),
        (3562, 159_910, CPU, (2, 10)),
        (3562, 159_910, GPU, (100, 1000)),
        (ROWS_MAX, 1_000_000, CPU, (2,)),
        (ROWS_MAX, 1_000_000, GPU, (10, 100)),
        (ROWS_MAX, 10**9, GPU, (2,)),
        (1, 0, CPU, (100, 1000)),
    ],
)
def test_unasked_batches_are_as_large_as_the_device_and_the_matrix_allow(
    rows: int, nnz: int, device: DeviceInfo, batches: tuple[int, ...]
) -> None:
    matrix = MatrixInfo("m", "m", rows, rows, nnz)
    assert default_batches([matrix], device.backend) == batches
    found = keys(matrix, device=device, kernels=["csr/scalar"], caches=["warm"])
    assert [key.rpartition("|")[2].partition(",")[0] for key in found] == [f"batch={count}" for count in batches]


def test_an_unasked_mixture_has_every_matrix() -> None:
    many = [MatrixInfo(f"m{number}", "m", 3562, 3562, 159_910) for number in range(40)]
    found = keys(*many, kernels=["csr/scalar"], caches=["warm"], compose=["mixed"])
    assert [key.rpartition("|")[2].partition(",")[0] for key in found] == ["batch=40"]


def test_batches_that_are_asked_for_are_measured_whatever_their_size() -> None:
    matrix = MatrixInfo("m", "m", 3562, 3562, 159_910)
    found = keys(matrix, kernels=["csr/scalar"], caches=["warm"], batches=[10_000])
    assert [key.rpartition("|")[2].partition(",")[0] for key in found] == ["batch=10000"]


def test_an_unasked_batch_ends_while_one_looks_and_a_larger_one_is_told_before() -> None:
    def estimate(nnz: int, cache_bytes: int = 2**25, **params: Any) -> float:
        device = dataclasses.replace(CPU, cache_bytes=cache_bytes)
        matrix = MatrixInfo("m", "m", min(nnz // 5 + 1, ROWS_MAX), 1000, nnz)
        return BatchedStudy().estimate_s(parse_params(BatchedParams, params), [matrix], device)

    assert max(estimate(nnz) for nnz in (100, 10**4, 10**5, 10**6)) < 60
    assert max(estimate(nnz, 300 * 2**20) for nnz in (100, 10**4, 10**5, 10**6)) < 75
    assert estimate(3 * 10**6) < 120
    assert estimate(159_910, batches=[1000], sampling="fixed") > 300
    assert estimate(159_910, time_limit_s=10.0) < estimate(159_910, time_limit_s=20.0, sampling="fixed")


def test_a_larger_batch_takes_longer_and_a_matrix_that_is_skipped_no_time() -> None:
    def estimate(*matrices: MatrixInfo, **params: Any) -> float:
        return BatchedStudy().estimate_s(BatchedParams(**params), matrices, CPU)

    heavy = MatrixInfo("m", "m", 1000, 1000, 60_000)
    assert estimate(heavy, batches=(1000,)) > 2 * estimate(heavy, batches=(10,))
    assert estimate(heavy, B) > estimate(heavy, B, compose=("uniform",))
    assert estimate(LARGE) == estimate(EMPTY) < estimate(B)


SMALL = {
    "a": dense([[1, 0, 2], [0, 0, 0], [3, 4, 0]]),
    "none": dense([[0, 0], [0, 0]]),
    "b": dense([[0, 5, 0, 0, 0]]),
}


def infos(matrices: dict[str, CsrMatrix]) -> list[MatrixInfo]:
    return [MatrixInfo(name, name, m.n_rows, m.n_cols, m.nnz) for name, m in matrices.items()]


def test_a_run_measures_what_it_owes(bench: Bench) -> None:
    params = BatchedParams(kernels=TWO, batches=(4, 9), caches=("warm",), energy_s=0.0)
    cases = tuple(BatchedStudy().cases(params, infos(SMALL), bench.device))
    owed = [case for case in cases if ("batch", "9") in case.axes]
    records = list(BatchedStudy().run(params, owed, SMALL, bench))
    found = {m.case: m for m in records if isinstance(m, Measurement)}
    assert list(found) == [case.key for case in owed]
    assert len(owed) == 2 * 4
    for case in owed:
        m, compose = found[case.key], dict(case.axes)["compose"]
        if case.matrix_id == "none":
            assert (m.state, m.note) == ("skipped", "the matrix has no nonzeros")
            continue
        assert (m.state, m.details.batch_size) == ("ok", 9), m.note
        assert m.environment.get("matrices") == ("a, b" if compose == "mixed" else None)
        # Of nine problems in a mixed batch five are copies of the first matrix.
        rows, cols = {"uniform": {"a": (27, 27), "b": (9, 45)}, "mixed": {"a": (19, 35)}}[compose][case.matrix_id]
        assert m.details.vector_bytes == 8 * cols + 16 * rows
    done = [r.done for r in records if isinstance(r, Progress)]
    assert done == sorted(done)
    assert 7.0 < done[-1] < 8.0


def test_the_product_that_is_asked_for_is_measured(bench: Bench) -> None:
    params = BatchedParams(kernels=("csr/scalar",), batches=(4,), caches=("warm",), operation="y = Ax", energy_s=0.0)
    (case,) = BatchedStudy().cases(params, infos({"a": SMALL["a"]}), bench.device)
    (m,) = (r for r in BatchedStudy().run(params, [case], SMALL, bench) if isinstance(r, Measurement))
    assert (m.state, m.details.vector_bytes) == ("ok", 8 * 12 + 8 * 12)


def test_a_matrix_with_too_many_rows_is_skipped_with_the_reason(bench: Bench) -> None:
    large = {"large": generate("rows", {"n": ROWS_MAX + 1, "lengths": "constant", "mean": 1.0, "max_length": 9})}
    params = BatchedParams(kernels=("csr/scalar",), batches=(4,), caches=("warm",))
    cases = tuple(BatchedStudy().cases(params, infos(large), bench.device))
    (m,) = (r for r in BatchedStudy().run(params, cases, large, bench) if isinstance(r, Measurement))
    assert (m.state, m.note) == (
        "skipped",
        "the matrix has 16385 rows; a batch takes matrices with at most 16384 rows",
    )
