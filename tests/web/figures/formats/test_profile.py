import pytest

from gpu_engine.records import Measurement
from tests.web.samples import study_of, timed, titles, traces, untimed
from web.figures.formats.profile import draw, profiles, summary, table
from web.shown import Shown
from web.units import THIN


def kernels(matrix: str, csr_s: float, vector_s: float, ell_s: float | None) -> list[Measurement]:
    ell = timed("ell/thread", ell_s, matrix=matrix) if ell_s else untimed("ell/thread", "skipped", "", matrix=matrix)
    return [timed("csr/scalar", csr_s, matrix=matrix), timed("csr/vector", vector_s, matrix=matrix), ell]


SHOWN = Shown([*kernels("m1", 4e-3, 2e-3, 1e-3), *kernels("m2", 3e-3, 1e-3, None), *kernels("m3", 9e-3, 1.01e-3, 1e-3)])


def by_kernel(shown: Shown) -> dict[str, tuple[float, ...]]:
    groups: dict[str, list[Measurement]] = {}
    for m in sorted(shown.measurements, key=lambda m: m.median_s or 1.0):
        groups.setdefault(m.matrix_id, []).append(m)
    return {profile.kernel: profile.factors for profile in profiles(groups)}


def test_a_factor_is_the_time_over_that_of_the_fastest() -> None:
    inf = float("inf")
    assert by_kernel(SHOWN) == {
        "csr/vector": (1.0, 1.0, 2.0),
        "ell/thread": (1.0, 1.0, inf),
        "csr/scalar": pytest.approx((3.0, 4.0, 9.0)),
    }, "within what a kernel differs from itself is as good as the fastest; a skipped one never is"


def test_a_line_steps_up_at_each_factor() -> None:
    lines = {trace["name"]: trace for trace in traces(draw(SHOWN), "profile")}
    assert list(lines) == ["csr/vector", "ell/thread"], "of a format the one that stays nearest"
    assert lines["csr/vector"]["x"] == [1.0, 2.0, 4.0]
    assert lines["csr/vector"]["y"] == pytest.approx([2 / 3, 1.0, 1.0])
    assert (lines["ell/thread"]["x"], lines["ell/thread"]["y"]) == ([1.0, 4.0], pytest.approx([2 / 3, 2 / 3]))
    assert lines["ell/thread"]["line"]["shape"] == "hv"


def test_chosen_kernels_are_drawn_one_by_one() -> None:
    chosen = Shown(SHOWN.measurements, kernels=("csr/scalar", "csr/vector"))
    assert [trace["name"] for trace in traces(draw(chosen), "profile")] == ["csr/vector", "csr/scalar"]


def test_a_matrix_that_lacks_a_record_does_not_count() -> None:
    shown = Shown([*SHOWN.measurements, timed("csr/vector", 1e-3, matrix="m4")])
    assert by_kernel(shown) == by_kernel(SHOWN)
    assert "over 3 matrices (1 more lack a record of some kernel)" in summary(shown)
    apart = Shown([timed("csr/vector", 1e-3, matrix="m1"), timed("ell/thread", 1e-3, matrix="m2")])
    assert titles(draw(apart)) == ["No matrix here has a record of every kernel."]
    assert summary(apart).endswith("On cpu, warm no matrix has a record of every kernel.")


def test_a_matrix_on_which_nothing_ran_does_not_count() -> None:
    nothing = [untimed(k, "failed", "", matrix="m5") for k in ("csr/scalar", "csr/vector", "ell/thread")]
    assert by_kernel(Shown([*SHOWN.measurements, *nothing])) == by_kernel(SHOWN)


def test_the_table_has_every_kernel() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in table(SHOWN).rows]
    assert [head.text for head in table(SHOWN).heads][4:] == [
        "within 1",
        "within 1.1",
        "within 1.25",
        "within 1.5",
        "within 2",
        "within 4",
        "has a time",
    ]
    assert rows[0] == ("csr/vector", "cpu", "warm", "3", "67 %", "67 %", "67 %", "67 %", "100 %", "100 %", "100 %")
    assert rows[1][-2:] == ("67 %", "67 %")
    assert rows[2] == ("csr/scalar", "cpu", "warm", "3", "0 %", "0 %", "0 %", "0 %", "0 %", "67 %", "100 %")


def test_the_algorithms_of_a_library_count_once() -> None:
    shown = Shown([timed(k, 1e-3) for k in ("cusparse/best", "cusparse/csr_alg1", "csr/vector")])
    assert list(by_kernel(Shown(shown.measurements))) == ["csr/vector", "cusparse/best", "cusparse/csr_alg1"]
    assert [row[0] for row in table(shown).rows] == ["csr/vector", "cusparse/best"]


def test_devices_and_cache_states_have_their_own_panels() -> None:
    shown = Shown([*study_of("m1"), *study_of("m1", "cuda:0", 0.01)])
    assert titles(draw(shown)) == ["cpu, cold", "cpu, warm", "cuda:0, cold", "cuda:0, warm"]
    assert {trace["xaxis"] for trace in traces(draw(shown), "profile")} == {"x", "x2", "x3", "x4"}


def test_no_results() -> None:
    assert titles(draw(Shown())) == ["No matrix here has a record of every kernel."]
    assert table(Shown()).rows == ()
