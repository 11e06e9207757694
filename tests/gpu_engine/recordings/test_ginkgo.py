"""JSON of Ginkgo's benchmark as a recording: its unit by its numbers, what it does not say, and what is refused."""

import math
from typing import Any

import pytest

from gpu_engine.errors import InputError, ParameterError
from gpu_engine.recordings import ginkgo
from gpu_engine.recordings.files import Recording
from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import compare
from tests.samples.ginkgo import NNZ, ROWS, TIMES, newer, older, result


def read(*items: Any, device: str = "a100") -> Recording:
    return ginkgo.recording(items, "It", device)


def by_kernel(recording: Recording) -> dict[str, Measurement]:
    return {m.kernel: m for m in recording.measurements}


@pytest.mark.parametrize(("item", "unit"), [(older(), "nanoseconds"), (newer(), "seconds")])
def test_both_layouts_give_the_same_times_and_say_which_unit_was_taken(item: Any, unit: str) -> None:
    found = read(item)
    assert found.device.details == {"benchmark": "Ginkgo, spmv", "times": f"assumed to be {unit}"}
    assert (found.study, found.created_at, found.profile, found.device.name) == ("formats", "", None, "a100")
    times = {kernel: m.median_s for kernel, m in by_kernel(found).items()}
    assert times == pytest.approx({f"ginkgo/{name}": time for name, time in TIMES.items()})
    csr = by_kernel(found)["ginkgo/csr"]
    assert (csr.state, csr.cache, csr.stored_bytes) == ("ok", "warm", 13 * NNZ)
    assert csr.gflops == pytest.approx(5.0)
    unknown = (csr.ci_low_s, csr.ci_high_s, csr.min_s, csr.roofline_s, csr.max_error, csr.rounds, csr.aa_gap)
    assert set(unknown) == {None}
    assert csr.note == "Single timing of 100 SpMVs by Ginkgo's benchmark, without rounds and confidence interval."


def test_a_matrix_has_what_is_said_of_it_and_no_path_of_a_stranger() -> None:
    (of_collection,) = read(older()).matrices
    assert (of_collection.id, of_collection.name, of_collection.fingerprint) == ("HB/bcsstk99", "bcsstk99", "")
    assert of_collection.source == {"kind": "collection", "name": "HB/bcsstk99"}
    sizes = {"n_rows": ROWS, "n_cols": ROWS, "nnz": NNZ, "ave": 50.0}
    assert of_collection.features == {**sizes, "min": 40, "max": 60, "max_min": 20, "sigma": 5.0}
    (of_file,) = read(newer("/home/somebody/mesh.mtx")).matrices
    assert (of_file.id, of_file.name) == ("mesh.mtx", "mesh")
    assert of_file.source == {"kind": "upload", "filename": "mesh.mtx"}
    assert of_file.features == sizes


def test_columns_are_called_as_older_files_call_them() -> None:
    item = older()
    item["problem"]["columns"] = item["problem"].pop("cols")
    assert read(item).matrices[0].n_cols == ROWS


def test_numbers_of_what_was_read_come_before_those_of_the_collection() -> None:
    item = {**older(), "nonzeros": NNZ - 10}
    (matrix,) = read(item).matrices
    assert matrix.nnz == NNZ - 10
    # The lengths of the rows are those of other entries.
    assert "sigma" not in matrix.features


def test_an_order_is_part_of_a_kernel() -> None:
    found = read(newer(), {**newer(), "reorder": "rcm"}, {**newer("/data/other.mtx"), "reorder": "natural"})
    assert [matrix.id for matrix in found.matrices] == ["mesh.mtx", "other.mtx"]
    assert [m.kernel for m in found.measurements if m.kernel.startswith("ginkgo/csr")] == [
        "ginkgo/csr",
        "ginkgo/csr+rcm",
        "ginkgo/csr",
    ]


@pytest.mark.parametrize(
    ("wrong", "note"),
    [
        ({"completed": False}, "Not completed by Ginkgo's benchmark, which gives no reason."),
        ({"completed": False, "error": "out of memory"}, "out of memory"),
        ({"completed": False, "time": -1.0}, "Not completed by Ginkgo's benchmark, which gives no reason."),
        (result(2e-5, max_relative_norm2=1.6e-3), "relative error of y is 0.0016 (limit 1e-10)."),
        (result(2e-5, max_relative_norm2=None), "relative error of y is not a number (limit 1e-10)."),
    ],
)
def test_what_has_no_time_or_a_wrong_product_is_failed_with_its_reason(wrong: Any, note: str) -> None:
    found = by_kernel(read(newer(hybrid=wrong)))["ginkgo/hybrid"]
    assert (found.state, found.median_s, found.gflops) == ("failed", None, None)
    assert found.note.endswith(note)


def test_a_long_reason_is_cut() -> None:
    found = by_kernel(read(newer(hybrid={"completed": False, "error": "e" * 10_000})))["ginkgo/hybrid"]
    assert found.note == "e" * ginkgo.NOTE_MAX


def test_a_matrix_that_is_stored_in_too_few_bytes_has_no_times() -> None:
    found = read(newer(csr=result(2e-5, storage=12 * NNZ - 1)))
    assert {m.state for m in found.measurements} == {"failed"}
    assert found.measurements[0].note.startswith("Rejected: a format stores the matrix in 599,999 bytes, fewer than 12")
    # Values of fewer bits are what a mixed format is for.
    assert by_kernel(read(newer(ell_mixed=result(2e-5, storage=9 * NNZ))))["ginkgo/ell_mixed"].state == "ok"


def test_aggregated_files_say_the_device() -> None:
    said = {"dataset": {"system": "V100_SXM2", "executor": "cuda", "provider": "x"}}
    found = read(newer() | said, device="")
    assert (found.device.name, found.device.details["executor"]) == ("V100_SXM2", "cuda")
    with pytest.raises(InputError, match=r"several devices: 'MI100', 'V100_SXM2'"):
        read(newer() | said, newer("b.mtx") | {"dataset": {"system": "MI100"}})
    with pytest.raises(ParameterError, match="Give the device a name"):
        read(newer(), device="")


def test_single_times_are_neither_faster_nor_the_same() -> None:
    found = by_kernel(read(newer(coo=result(20e-6))))
    for other in ("ginkgo/coo", "ginkgo/ell"):
        verdict = compare(found["ginkgo/csr"], found[other])
        assert (verdict.kind, verdict.reason) == (
            "inconclusive",
            "One of the two timings has no confidence interval.",
        )
    assert verdict.ratio == pytest.approx(1.25)


EITHER = 300.0
"""Seconds at 20 kB/s, or nanoseconds at 20 TB/s, of ten times as many entries."""

NOTHING: dict[str, Any] = {"completed": False}
ONE: dict[str, Any] = {"coo": NOTHING, "ell": NOTHING}
TWO_UNITS = r"two units: ginkgo/csr of mesh\.mtx \(2e-05\) in seconds, ginkgo/csr of HB"


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([newer(nnz=10 * NNZ, csr=result(EITHER, storage=0), **ONE)], "may be seconds or nanoseconds"),
        ([newer(), older()], TWO_UNITS),
        ([newer(csr=result(1e12))], r"the time 1e\+12 of ginkgo/csr of mesh\.mtx is implausible"),
        ([newer(csr=result(1e-12))], "implausible in every unit"),
        ([newer(csr=NOTHING, **ONE)], "no timing of an SpMV"),
        ([{**newer(), "spmv": {}}], "no timing of an SpMV"),
    ],
)
def test_a_unit_that_cannot_be_told_is_not_guessed(items: list[Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(*items)


def test_a_time_that_fits_both_units_goes_with_the_others() -> None:
    found = read(newer("/huge.mtx", nnz=10 * NNZ, csr=result(EITHER, storage=0), **ONE), older())
    assert found.device.details["times"] == "assumed to be nanoseconds"
    assert math.isclose(found.measurements[0].median_s or 0.0, 300e-9)


def test_nothing_takes_less_than_ten_nanoseconds() -> None:
    # 36 bytes in 2 ms are 18 kB/s; in 2 ms of a nanosecond they would be 18 TB/s.
    small = {**newer(csr=result(2e-3, storage=0), **ONE), "rows": 1, "cols": 1, "nonzeros": 1}
    assert read(small).device.details["times"] == "assumed to be seconds"


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (1, r"It, item 0 is '1'; expected an object"),
        ({**newer(), "spmv": []}, r"item 0, spmv is '\[\]'; expected an object"),
        ({**newer(), "problem": 3}, "item 0, problem is '3'; expected an object"),
        ({**newer(), "dataset": 3}, "is '3'; expected an object"),
        ({**newer(), "dataset": {"system": 3}}, "system is '3'; expected text"),
        ({**newer(), "rows": -1}, "rows is '-1'; expected a whole number at least 1"),
        ({**newer(), "rows": 1.5}, "rows is '1.5'; expected a whole number"),
        ({**newer(), "nonzeros": True}, "nonzeros is 'True'; expected a whole number"),
        ({name: value for name, value in newer().items() if name != "cols"}, "cols is 'None'; expected a whole"),
        ({name: value for name, value in newer().items() if name != "rows"}, "'rows' is missing"),
        ({**newer(), "filename": 3}, "filename is '3'; expected text"),
        ({**newer(), "filename": ""}, "no group, name, or filename"),
        ({**newer(), "filename": "a" * 201}, "a name of over 200 characters"),
        ({**newer(), "reorder": "a|b"}, r"'ginkgo/csr\+a\|b' may only have lowercase letters"),
        ({**newer(), "row_distribution": 3}, "row_distribution is '3'"),
        ({**newer(), "row_distribution": {"min": 1, "max": 2, "mean": 1.0, "variance": -1.0}}, "variance is '-1.0'"),
        (newer(csr=3), r"spmv\.csr is '3'; expected an object"),
        (newer(csr={}), "'completed' is missing"),
        (newer(csr=result(2e-5, completed="yes")), "completed is 'yes'; expected true or false"),
        (newer(csr={"completed": True}), "is completed, but its time is None"),
        (newer(csr=result(0.0)), r"completed, but its time is 0\.0"),
        (newer(csr=result(-2e-5)), "completed, but its time is -2e-05"),
        (newer(csr=result("2e-5")), "time is '2e-5'; expected a finite number"),  # type: ignore[arg-type]
        (newer(csr=result(2e-5, storage=-1)), "storage is '-1'; expected a whole number at least 0"),
        (newer(csr=result(2e-5, repetitions=0)), "repetitions is '0'; expected a whole number at least 1"),
        (newer() | {"spmv": {"csr|x": result(2e-5)}}, r"'ginkgo/csr\|x' may only have lowercase letters"),
        (newer() | {"spmv": {"a" * 41: result(2e-5)}}, "may only have lowercase letters"),
    ],
)
def test_what_is_of_another_form_is_refused_with_its_place(item: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        read(item)
    assert refused.value.message.startswith("It, item 0")


def test_a_case_is_there_once_and_a_matrix_has_one_size() -> None:
    with pytest.raises(InputError, match=r"the case 'mesh.mtx\|ginkgo/csr\|warm\|' occurs 2 times"):
        read(newer(), newer())
    with pytest.raises(InputError, match=r"two matrices have the name 'mesh\.mtx'"):
        read(newer(), {**newer(), "nonzeros": NNZ - 1})


def test_an_array_of_items_is_of_the_benchmark() -> None:
    documents: tuple[Any, ...] = ([{}], [], {}, "x")
    assert [ginkgo.is_benchmark(found) for found in documents] == [True, False, False, False]
