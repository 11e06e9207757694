"""The bars of a running job: what its rounds say so far, beside what was predicted."""

import pytest
from fastapi.testclient import TestClient

from gpu_engine.advisor.gpus import GPUS
from gpu_engine.findings.finding import INTERVAL, RANGE
from gpu_engine.matrices.features import features
from gpu_engine.records import Case, Interim, as_json
from server.models import JobRow
from tests.web.conftest import Lab, get, sample_matrix
from web.live_bars import BARS_MAX, SLOWEST, WIDTH, JsonInterim, bars, matrix_of


def interim(matrix_id: str, **medians: float) -> list[JsonInterim]:
    """Medians in seconds by kernel, a tenth around them, of warm products but for one cold one."""
    own = [
        Interim(Case(matrix_id, kernel.replace("_", "/"), "warm").key, time_s, 0.9 * time_s, 1.1 * time_s, 9)
        for kernel, time_s in medians.items()
    ]
    return [as_json(each) for each in [*own, Interim(Case(matrix_id, "csr/scalar", "cold").key, 9.0, 8.0, 10.0, 9)]]


def test_a_bar_is_as_long_as_its_time_and_the_scale_ends_at_some_times_the_shortest() -> None:
    picture = bars(interim("m", csr_scalar=1.0, csr_vector=2.0, ell_thread=40.0), "a", {}, None, ())
    assert picture is not None
    assert [(bar.kernel, bar.bar) for bar in picture.bars] == [
        ("csr/scalar", WIDTH / SLOWEST),
        ("csr/vector", 2 * WIDTH / SLOWEST),
        ("ell/thread", WIDTH),
    ]
    assert picture.bars[1].texts == ("2.00\u202fs", "1.80\u202fs – 2.20\u202fs", "–")
    assert (picture.forecast, picture.caption) == (
        False,
        f"a, warm: provisional medians ({INTERVAL}) of the rounds so far.",
    )


@pytest.mark.parametrize("rounds", [2, 4, 5])
def test_a_few_rounds_show_their_number_and_ends(rounds: int) -> None:
    own = Interim(Case("m", "csr/scalar", "warm").key, 1.0, None, None, rounds, False, 0.9, 1.1)
    picture = bars([as_json(own)], "a", {}, None, ())
    assert picture is not None
    ends = "900\u202fms – 1.10\u202fs"
    assert picture.bars[0].texts[1] == (f"{rounds} rounds, {ends}" if rounds < 5 else "–")
    assert picture.head == (RANGE if rounds < 5 else INTERVAL)
    assert (INTERVAL in picture.caption) == (rounds >= 5)


def test_predictions_stand_alone_until_there_are_times_and_beside_them_then() -> None:
    known = features(sample_matrix())
    before = bars([], "a", known, GPUS[0], ())
    assert before is not None
    assert all(bar.bar is None and bar.predicted for bar in before.bars)
    assert before.caption == "a, warm. Hollow bars: predicted times."
    first = before.bars[0].kernel
    after = bars(interim("m", **{first.replace("/", "_"): 1e-6}), "a", known, GPUS[0], ())
    assert after is not None
    assert {bar.kernel for bar in after.bars} == {bar.kernel for bar in before.bars}
    assert [bar.kernel for bar in after.bars if bar.bar] == [first]
    assert after.bars[0].texts[2] == before.bars[0].texts[2]


def test_only_the_kernels_that_will_be_measured_are_foretold() -> None:
    picture = bars([], "a", features(sample_matrix()), GPUS[0], ("csr/scalar",))
    assert picture is None or [bar.kernel for bar in picture.bars] == ["csr/scalar"]


def test_of_many_the_shortest_are_shown_and_the_others_counted() -> None:
    picture = bars(interim("m", **{f"k_{n:02}": 1.0 + n for n in range(BARS_MAX + 3)}), "a", {}, None, ())
    assert picture is not None
    assert len(picture.bars) == BARS_MAX
    assert picture.caption.endswith(" 3 slower kernels are not shown.")


def test_nothing_is_shown_where_nothing_is_known() -> None:
    assert bars([], "a", {}, None, ()) is None


@pytest.mark.parametrize(
    ("told", "current", "matrix"), [(True, "n|k|warm|", "m"), (False, "n|k|warm|", "n"), (False, "", "")]
)
def test_the_matrix_is_that_of_the_rounds_or_of_the_case_that_is_prepared(
    told: bool, current: str, matrix: str
) -> None:
    assert matrix_of(interim("m") if told else [], current) == matrix


def test_a_running_job_shows_them_and_one_that_is_over_does_not(client: TestClient, lab: Lab) -> None:
    with lab.database.write() as session:
        for job_id in ("j1", "j4"):
            job = session.get(JobRow, job_id)
            assert job is not None
            job.interim = interim(lab.matrix, csr_scalar=1e-3)
    running = get(client, "/jobs/j4")
    assert running.context["interim"].bars[0].texts[0] == "1.00\u202fms"
    assert running.text.count('<table class="interim">') == 1
    assert get(client, "/jobs/j1").context["interim"] is None
