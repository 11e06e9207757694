"""Which kernel an operator takes, why it says so, and what a trial leaves on disk."""

import inspect
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.advisor import rank
from gpu_engine.advisor.gpus import FITTED, gpu_named
from gpu_engine.advisor.model import predict
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.formats import find_kernel
from gpu_engine.generators import generate
from gpu_engine.matrices.features import features, product_features
from gpu_engine.operators import autotune, build, choice, operator, tuning_cache
from gpu_engine.operators.matrices import wrap_arrays
from gpu_engine.operators.transposed_copy import TransposedCopy
from gpu_engine.operators.vectors import HostVectors
from gpu_engine.records import DeviceInfo
from tests.battery import BATTERY, with_row_lengths

H100 = DeviceInfo("cuda:0", "cuda", "NVIDIA H100 80GB HBM3", 80 * 10**9, 0)
MATRIX = BATTERY["power_law"]()


def test_a_gpu_gets_what_the_advisor_puts_first_there() -> None:
    graph = MATRIX
    known = features(graph)
    gpu = gpu_named(H100.name)
    assert gpu is not None
    kernel, prediction = rank(known, gpu)[0]
    found = choice.predicted_kernel(graph, H100)
    assert (found.kernel, found.predicted_s) == (kernel, prediction.seconds)
    assert found.shared_s == predict("csc/atomic", known, gpu).seconds
    assert found.reason.startswith("predicted the fastest on H100-SXM: stores ")
    assert found.reason.endswith("use choose='measure'")


def test_no_doubt_is_said_of_a_matrix_like_those_that_the_costs_were_fitted_to() -> None:
    graph = with_row_lengths(np.full(20_000, 25), 20_000, seed=5)
    assert "measure" not in choice.predicted_kernel(graph, H100).reason


def test_on_a_gpu_auto_predicts_where_the_advisor_is_sure_and_else_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    sure, doubtful = with_row_lengths(np.full(20_000, 25), 20_000, seed=5), MATRIX
    monkeypatch.setattr(build.Source, "device", H100)
    monkeypatch.setattr(HostVectors, "backend", "cuda")
    trials: list[Any] = []

    def count(host: Any, *_: Any) -> choice.Choice:
        trials.append(host)
        return choice.Choice("csr/smart", "tried")

    monkeypatch.setattr(autotune, "autotune", count)
    expected: dict[build.Choose, int] = {"auto": 1, "predict": 0, "measure": 2}
    for choose, tried in expected.items():
        for matrix in (sure, doubtful):
            source = build.Source(wrap_arrays(matrix), build.Wish(choose))
            found = source._chosen(matrix, None)
            assert (found.reason == "tried") == (choose == "measure" or (choose == "auto" and matrix is doubtful))
        assert len(trials) == tried
        trials.clear()


def test_auto_is_the_default() -> None:
    assert inspect.signature(operator).parameters["choose"].default == build.Wish().choose == "auto"


@pytest.mark.parametrize("name", ["NVIDIA B200", "Tesla V100-SXM2-16GB"])
def test_nothing_is_certain_on_a_gpu_that_was_not_judged(name: str) -> None:
    like = with_row_lengths(np.full(20_000, 25), 20_000, seed=5)
    assert choice.confident_kernel(like, H100) is not None
    assert choice.confident_kernel(like, replace(H100, name=name)) is None
    assert choice.predicted_kernel(like, replace(H100, name=name)).reason.endswith("use choose='measure'")


def test_a_trial_on_a_gpu_tries_kernels_unlike_each_other() -> None:
    program = generate("linear_program", {"constraints": 30_000, "variables": 30_000})
    names = choice.candidates(program, H100)
    assert {"split/tile", "coo/segmented"} <= set(names[: autotune.TRIED])
    # One thread or warp would walk the full row: predicted tens of times as long as the first.
    assert "csr/smart" not in names
    plain = choice.candidates(with_row_lengths(np.full(20_000, 25), 20_000, seed=5), H100)
    assert {"split/tile", "coo/segmented", "csr/smart", "sellp/t1"} <= set(plain[: choice.PREDICTED_FIRST + 4])
    assert len(set(plain)) == len(plain)


@pytest.mark.parametrize("name", [H100.name, "NVIDIA H200", "Tesla P100-PCIE-16GB"])
def test_a_trial_begins_with_the_first_of_the_ranking_and_has_the_best_of_each_format(name: str) -> None:
    gpu = gpu_named(name)
    assert gpu is not None
    matrix = with_row_lengths(np.random.default_rng(1).integers(1, 60, 20_000), 20_000, seed=5)
    names = choice.candidates(matrix, replace(H100, name=name))
    ranking = rank(features(matrix), gpu)
    ranked = [kernel for kernel, p in ranking if p.seconds <= choice.SLOWDOWN_MAX * ranking[0][1].seconds]
    assert list(names[: choice.PREDICTED_FIRST]) == ranked[: choice.PREDICTED_FIRST]
    assert sorted(names) == sorted(ranked)
    like = {kernel.partition("/")[0] for kernel in choice.DIVERSE_KERNELS}
    best: dict[str, str] = {}
    for kernel in ranked:
        best.setdefault(kernel.partition("/")[0], kernel)
    first = {kernel.partition("/")[0]: kernel for kernel in reversed(names)}
    assert {f: kernel for f, kernel in first.items() if f not in like} == {
        f: kernel for f, kernel in best.items() if f not in like
    }


@pytest.mark.parametrize("error", [OSError("no room"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_choice_that_cannot_be_written(
    error: BaseException, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise error

    monkeypatch.setattr("os.replace", refuse)
    if isinstance(error, OSError):
        assert not tuning_cache.write("key", {"rounds": 3})
    else:
        with pytest.raises(KeyboardInterrupt):
            tuning_cache.write("key", {"rounds": 3})
    assert list(home.iterdir()) == []


def test_what_is_no_json_leaves_nothing(home: Path) -> None:
    with pytest.raises(TypeError):
        tuning_cache.write("key", {"rounds": object()})
    assert not home.exists()


def test_a_gpu_without_a_model_is_taken_for_the_fitted_one_and_told() -> None:
    found = choice.predicted_kernel(MATRIX, replace(H100, name="NVIDIA B200"))
    assert found.predicted_s == rank(features(MATRIX), FITTED)[0][1].seconds
    assert "on H200 (there is no model of NVIDIA B200): " in found.reason


def test_nothing_is_predicted_of_no_entries() -> None:
    found = choice.predicted_kernel(BATTERY["all_rows_empty"](), H100)
    assert (found.kernel, found.predicted_s, found.reason) == (
        "csr/smart",
        None,
        "default for a matrix without nonzeros",
    )


def test_the_features_of_products_are_among_all() -> None:
    assert product_features(MATRIX).items() <= features(MATRIX).items()


def test_nothing_is_predicted_of_a_cpu() -> None:
    op = operator(MATRIX)
    assert (op.kernel, op.predicted_s, op.measured_s) == ("csr/smart", None, None)
    assert op.reason.startswith("default for CPUs")


def test_a_kernel_by_name_is_that_one() -> None:
    op = operator(MATRIX, kernel="split/tile")
    assert (op.kernel, op.reason) == ("split/tile", "requested by the caller")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kernel": "csr/vector16"}, "lies on cpu, where csr/vector16 does not run. Choose one of: csr/scalar, "),
        ({"kernel": "csr/none"}, "There is no kernel 'csr/none'"),
        ({"kernel": "split/tile", "like": {}}, "give only one of them"),
        ({"choose": "guess"}, "choose is 'guess'; expected one of auto, predict, measure"),
        ({"choose": "measure", "time_limit_s": 0.0}, "time_limit_s is 0.0"),
    ],
)
def test_what_is_no_choice_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        operator(MATRIX, **options)


def results(*rows: tuple[str, str, str, float | None], device: str = "cpu", leader: str = "") -> dict[str, Any]:
    """A results document of (matrix, kernel, cache, seconds)."""
    named = ("matrix_id", "kernel", "cache", "median_s")
    measurements = [{"study": "formats", "device": device, **dict(zip(named, row, strict=True))} for row in rows]
    return {"measurements": measurements, "summary": {"fastest": [{"kernel": leader, "cache": "warm"}]}}


JOB = (
    ("m", "csr/smart", "warm", 3e-3),
    ("m", "split/tile", "warm", 2e-3),
    ("m", "csr/scalar", "cold", 1e-3),
    ("m", "csr/vector+rcm", "warm", 1e-4),
    ("m", "scipy/csr", "warm", 1e-4),
    ("m", "packed/tile", "warm", None),
)


def test_a_job_gives_its_fastest_kernel_of_ours() -> None:
    op = operator(MATRIX, like=results(*JOB, leader="split/tile"))
    assert (op.kernel, op.measured_s, op.reason) == ("split/tile", 2e-3, "fastest kernel in the results of m")
    assert "no clear winner" in operator(MATRIX, like=results(*JOB)).reason


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "no time of a Sparsight kernel on cpu"),
        (results(*JOB, device="cuda:0"), "no time of a Sparsight kernel on cpu"),
        (results(*JOB, ("n", "csr/smart", "warm", 1.0)), "times of 2 matrices \\(m, n\\) on cpu"),
    ],
)
def test_a_job_that_says_nothing_of_one_matrix_here_is_refused(document: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        operator(MATRIX, like=document)


def test_only_a_leader_of_the_same_cache_state_is_clearly_the_fastest() -> None:
    document = results(*JOB, leader="split/tile")
    document["summary"]["fastest"][0]["cache"] = "cold"
    assert "no clear winner" in choice.kernel_from_results(document, "cpu").reason


def test_times_of_other_studies_are_not_taken() -> None:
    document = results(*JOB)
    for m in document["measurements"]:
        m["study"] = "batched"
    with pytest.raises(ParameterError, match="no time of a Sparsight kernel"):
        choice.kernel_from_results(document, "cpu")


def test_cold_times_count_where_there_are_no_warm_ones() -> None:
    cold = choice.kernel_from_results(results(*(row for row in JOB if row[2] == "cold")), "cpu")
    assert (cold.kernel, cold.measured_s) == ("csr/scalar", 1e-3)


def test_a_measured_time_counts_before_a_predicted_one() -> None:
    assert choice.Choice("k", "why", predicted_s=1.0).product_s == 1.0
    assert choice.Choice("k", "why", predicted_s=1.0, measured_s=2.0).product_s == 2.0
    assert choice.Choice("k", "why").product_s is None


def test_the_advisor_is_asked_for_the_gpu_that_multiplies(monkeypatch: pytest.MonkeyPatch) -> None:
    like = with_row_lengths(np.full(20_000, 25), 20_000, seed=5)
    monkeypatch.setattr("gpu_engine.advisor.is_sure", lambda _, gpu=FITTED: gpu is FITTED)
    assert choice.confident_kernel(like, H100) is None
    assert choice.confident_kernel(like, replace(H100, name="NVIDIA H200")) is not None
    assert choice.predicted_kernel(like, H100).reason.endswith("use choose='measure'")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and trials of two kernels."""
    monkeypatch.setenv("SPARSIGHT_HOME", str(tmp_path))
    monkeypatch.setattr(autotune, "TRIED", 2)
    return tmp_path / "choices"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The devices that trials opened, in order."""
    found: list[str] = []
    before = autotune.opened

    @contextmanager
    def counted(device: DeviceInfo) -> Iterator[Any]:
        found.append(device.id)
        with before(device) as bench:
            yield bench

    monkeypatch.setattr(autotune, "opened", counted)
    return found


def measured(matrix: Any = MATRIX) -> Any:
    return operator(matrix, "measure", time_limit_s=1e-3)


def test_a_trial_is_not_tried_again(home: Path, opened: list[str]) -> None:
    first, again = measured(), measured()
    assert opened == ["cpu"]
    assert (again.kernel, again.measured_s) == (first.kernel, first.measured_s)
    assert first.kernel in ("csr/scalar", "csr/vector")
    assert first.measured_s is not None
    # Two kernels within what a trial tells apart are told in other words than a fastest one; the numbers stay.
    for said, where in (
        (first.reason, "in an auto-tuning run"),
        (again.reason, "in an auto-tuning run stored on disk"),
    ):
        assert all(part in said for part in ("2 kernels", "3 interleaved rounds", where, "; next: csr/")), said
    assert "stored on disk" not in first.reason
    (file,) = home.iterdir()
    assert json.loads(file.read_text())["seconds"][first.kernel] == first.measured_s


def test_values_do_not_matter_to_a_trial_but_for_their_bytes(home: Path, opened: list[str]) -> None:
    measured()
    measured(replace(MATRIX, values=2.0 * MATRIX.values))
    assert len(opened) == 1
    measured(replace(MATRIX, values=np.ones(MATRIX.nnz)))
    assert len(opened) == 2


@pytest.mark.parametrize("changed", ["pattern", "source", "device"])
def test_another_pattern_kernel_or_device_is_tried_anew(
    changed: str, home: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured()
    matrix = MATRIX
    if changed == "pattern":
        matrix = replace(MATRIX, n_cols=MATRIX.n_cols + 1)
    elif changed == "source":
        monkeypatch.setattr("gpu_engine.formats.base.source_hash", lambda *_: "changed")
    else:
        monkeypatch.setattr("gpu_engine.host.device._cpu_name", lambda: "another CPU")
    measured(matrix)
    assert len(opened) == 2


@pytest.mark.parametrize("text", ["", "[]", '{"kernel": "csr/none", "seconds": {"csr/none": 1.0}, "rounds": 3}'])
def test_a_file_that_says_nothing_is_written_anew(text: str, home: Path, opened: list[str]) -> None:
    measured()
    (file,) = home.iterdir()
    file.write_text(text)
    assert measured().kernel in ("csr/scalar", "csr/vector")
    assert len(opened) == 2
    assert json.loads(file.read_text())["rounds"] == 3


def test_a_home_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path, opened: list[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("SPARSIGHT_HOME", str(file))
    assert "in an auto-tuning run (not stored" in measured().reason


def test_a_kernel_that_is_wrong_is_not_chosen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    f, kernel = find_kernel("csr/scalar")
    wrong = replace(kernel, cpu=lambda layout, x, y: y.fill(0.0))
    monkeypatch.setattr(autotune, "find_kernel", lambda name: (f, wrong) if name == "csr/scalar" else find_kernel(name))
    assert measured().kernel == "csr/vector"
    monkeypatch.setattr(autotune, "find_kernel", lambda name: (f, wrong))
    with pytest.raises(KernelError, match="None of the kernels csr/scalar, csr/vector computes a correct result"):
        measured(BATTERY["band"]())


def test_a_second_layout_says_what_it_costs_and_when_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"csr/scalar": 1e-6, "csr/vector": 2e-6, choice.SHARED: 3e-6}
    earlier = {"kernel": "csr/scalar", "seconds": seconds, "rounds": 3}
    monkeypatch.setattr(tuning_cache, "read", lambda _: earlier)
    op = measured()
    assert op.second is None
    second = op.T.second
    assert second is not None
    assert second.stored_bytes == 12 * MATRIX.nnz + 4 * (MATRIX.n_cols + 1)
    assert (second.product_s, op.T.measured_s, second.shared_s) == (1e-6, 1e-6, 3e-6)
    assert str(second) in repr(op.T)


def test_it_pays_once_it_has_saved_what_it_took() -> None:
    second = TransposedCopy(12_000_000, 0.1, 2e-3, 5e-3)
    assert second.pays_from == 34
    said = "12.0 MB more, built in 100 ms; break-even after 34 SpMVs, speedup 2.50 ×"
    assert str(second).replace("\u202f", " ") == said


def test_it_never_pays_where_products_without_it_are_as_fast() -> None:
    second = TransposedCopy(12, 0.1, 2e-3, 2e-3)
    assert second.pays_from is None
    assert "no break-even" in str(second)
    unknown = TransposedCopy(12, 0.1, None, None)
    assert unknown.pays_from is None
    assert "choose='measure'" in str(unknown)


def test_without_a_second_layout_the_arrays_of_the_matrix_serve_both() -> None:
    matrix = MATRIX.to_scipy()
    op = operator(matrix, transposed_copy=False)
    assert (op.kernel, op.T.kernel, op.T.second) == ("csr/smart", "csc/atomic", None)
    layout = op.T._built.layout
    assert np.shares_memory(layout.values, matrix.data)
    assert np.shares_memory(layout.rows, matrix.indices)
    by_columns = operator(matrix.tocsc(), transposed_copy=False)
    assert (by_columns.kernel, by_columns.T.kernel) == ("csc/atomic", "csr/smart")


@pytest.mark.parametrize("stored", ["csr", "csc"])
def test_a_symmetric_matrix_is_its_own_transpose(stored: Any) -> None:
    half = BATTERY["band"]().to_scipy()
    op = operator((half + half.T).asformat(stored))
    assert op.T is op
    assert op.second is None
    np.testing.assert_array_equal(op._built.layout.matrix.to_scipy().todense(), (half + half.T).todense())


def test_what_it_shows_is_text_and_a_table() -> None:
    op = operator(MATRIX, kernel="split/tile")
    lines = repr(op).splitlines()
    assert lines[0] == "Operator 4,000 × 3,000, 88,161 nonzeros, float64, on cpu"
    assert [line.split()[0] for line in lines[1:]] == ["kernel", "reason", "bytes"]
    table = op._repr_html_()
    assert table.count("<tr>") == 3
    assert "<th>reason</th><td>requested by the caller</td>" in table
    copied = operator(MATRIX.to_scipy().tocoo())
    assert "the arrays were copied: coordinates were sorted by row" in repr(copied)
    assert copied.nbytes == MATRIX.stored_bytes + 8 * MATRIX.n_rows
