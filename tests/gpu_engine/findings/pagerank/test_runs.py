import pytest

from gpu_engine.findings.pagerank.runs import Run, by_segments, is_right, power, run_groups, speed_up, tolerance
from tests.samples.pagerank import luxembourg, ran, shown, stopped

TWICE = (("start_segments", "2"), ("raise_at", "16"), ("stall_ratio", "0.98"), ("final_storage", "segments"))


@pytest.mark.parametrize(
    ("kernel", "layout", "precision", "segments"),
    [
        ("csr/thread+fp64", "csr/thread", "fp64", 0),
        ("ell/thread+cpms4", "ell/thread", "cpms4", 4),
        ("split/tile+pattern-cpms2", "split/tile", "pattern-cpms2", 2),
        ("csr/thread+unfused-cpms2", "csr/thread", "unfused-cpms2", 2),
    ],
)
def test_a_kernel_says_how_values_are_stored(kernel: str, layout: str, precision: str, segments: int) -> None:
    run = Run(stopped(kernel, "failed", ""))
    assert (run.layout, run.precision, run.segments) == (layout, precision, segments)


def test_the_axes_tell_parameters_from_the_schedule() -> None:
    axes = (("triangle", "lower"), ("damping", "0.9"), *TWICE)
    run = Run(*ran("csr/thread+cpms2", (0, 66), axes=axes))
    assert run.measurement.axes == dict(axes)
    assert run.parameters == "lower triangle, δ 0.9"
    assert Run(*ran("csr/thread+fp64", 9)).parameters == ""


def test_runs_compare_on_one_device_with_the_same_parameters() -> None:
    lower = ran("csr/thread+fp64", 28, axes=(("triangle", "lower"),))
    groups = run_groups(shown(*luxembourg(), *luxembourg("cuda:0"), lower))
    assert [(g.matrix_id, g.device, g.parameters, len(g.runs)) for g in groups] == [
        ("lux", "cpu", "", 5),
        ("lux", "cuda:0", "", 5),
        ("lux", "cpu", "lower triangle", 1),
    ]


def test_the_fastest_comes_first_and_what_has_no_time_last() -> None:
    (group,) = run_groups(shown(*luxembourg()))
    assert [run.precision for run in group.timed] == ["pattern", "cpms4", "cpms2", "fp64"]
    assert group.runs[-1].measurement.state == "skipped"
    assert group.fastest_full is group.runs[0]


def test_the_same_kernel_in_fp64_stores_what_the_run_stores() -> None:
    kernels = (
        "csr/thread+fp64",
        "csr/thread+cpms2",
        "split/tile+fp64",
        "split/tile+pattern",
        "split/tile+pattern-cpms2",
    )
    unfused = ("csr/thread+unfused-fp64", "csr/thread+unfused-cpms2")
    found = [ran(kernel, (4, 5) if "cpms" in kernel else 9) for kernel in (*kernels, *unfused, "ell/thread+cpms2")]
    (group,) = run_groups(shown(*found))
    plain = {run.measurement.kernel: group.plain(run) for run in group.runs}
    assert {kernel: run and run.measurement.kernel for kernel, run in plain.items()} == {
        "csr/thread+fp64": "csr/thread+fp64",
        "csr/thread+cpms2": "csr/thread+fp64",
        "split/tile+fp64": "split/tile+fp64",
        "split/tile+pattern": "split/tile+fp64",
        "split/tile+pattern-cpms2": "split/tile+pattern",
        "csr/thread+unfused-fp64": "csr/thread+unfused-fp64",
        "csr/thread+unfused-cpms2": "csr/thread+unfused-fp64",
        "ell/thread+cpms2": None,
    }
    fused = {run.measurement.kernel: other for run in group.runs if (other := group.fused(run))}
    assert {kernel: run.measurement.kernel for kernel, run in fused.items()} == {
        "csr/thread+unfused-fp64": "csr/thread+fp64",
        "csr/thread+unfused-cpms2": "csr/thread+cpms2",
    }


def test_several_schedules_of_a_kernel_are_told_apart() -> None:
    (group,) = run_groups(shown(*luxembourg(), ran("csr/thread+cpms4", (0, 46, 62, 5), axes=TWICE)))
    assert sorted(group.label(run) for run in group.runs) == [
        "csr/thread+cpms2",
        "csr/thread+cpms4, start segments 1, final storage fp64",
        "csr/thread+cpms4, start segments 2, final storage segments",
        "csr/thread+fp64",
        "csr/thread+pattern",
        "ell/thread+cpms2",
    ]


def test_ranks_are_right_when_an_iteration_would_change_them_by_less_than_epsilon() -> None:
    assert is_right(Run(*ran("csr/thread+fp64", 9, residual=9e-11)), 4)
    assert not is_right(Run(*ran("csr/thread+fp64", 9, residual=1.1e-10)), 4)
    assert not is_right(Run(*ran("csr/thread+fp64", 9, residual=None)), 4)
    assert not is_right(Run(stopped("csr/thread+fp64", "failed", "")), 4)
    loose = Run(*ran("csr/thread+fp64", 9, axes=(("epsilon", "1e-06"), ("norm", "L2"))))
    assert tolerance(loose, 4) == pytest.approx(2e-6)
    assert tolerance(Run(*ran("csr/thread+fp64", 9, axes=(("norm", "Linf"),))), 4) == pytest.approx(4e-10)


def test_a_speed_up_needs_two_times() -> None:
    slow, fast = Run(*ran("csr/thread+fp64", 9, 0.3)), Run(*ran("csr/thread+cpms2", (4, 5), 0.2))
    assert speed_up(slow, fast) == pytest.approx(1.5)
    assert speed_up(None, fast) is None
    assert speed_up(slow, Run(stopped("csr/thread+cpms2", "failed", ""))) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(8.13e-11, "8.1·10⁻¹¹"), (1e-10, "10⁻¹⁰"), (0.0, "0"), (0.25, "0.25"), (None, "–"), (float("nan"), "–")],
)
def test_small_numbers_are_powers_of_ten(value: float | None, text: str) -> None:
    assert power(value) == text


def test_iterations_by_segments_are_a_row_of_table_two() -> None:
    assert by_segments((1, 46, 61, 5)) == "1/46/61/5"
