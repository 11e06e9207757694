"""/history: the answer, the figure and the tables, by value; and what it says where there is little or nothing."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import pytest
from fastapi.testclient import TestClient

from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from server import import_recordings
from server.db import Database
from server.models import JobRow, JobState, MeasurementRow
from tests.conftest import AddMatrix
from tests.samples.history import BEGUN, DAY_S, FLAT, NEW, OLD, measured, scaled
from tests.samples.recording import sample
from tests.server.test_recordings import file_of
from tests.web.conftest import ON_GPU, Lab, add_job, get, words
from web.figures.base import Role
from web.figures.case_history import CASE_HISTORY
from web.histories import DRAWN_MAX
from web.views.histories import RECORDED

SLOWER = (*FLAT, *scaled(FLAT, 1.05))
UPDATED = [OLD] * 6 + [NEW] * 6
ADDRESS = "/history?matrix=m1&device=cuda:0"
Follow = Callable[..., None]


@pytest.fixture
def follow(lab: Lab) -> Follow:
    """`follow({kernel: times}, environments)`: jobs of one a day on the GPU of the lab, instead of its own."""
    with lab.database.write() as session:
        session.query(JobRow).filter(JobRow.device == "cuda:0").delete()

    def add(times: Mapping[str, Sequence[float]], environments: Sequence[Mapping[str, str]] = ()) -> None:
        for number in range(max(map(len, times.values()))):
            environment = environments[number] if environments else OLD
            found = [measured(own[number], environment, kernel) for kernel, own in times.items() if number < len(own)]
            add_dated(lab.database, number, found)

    return add


def add_dated(database: Database, number: int, found: Sequence[Measurement]) -> None:
    """A job of so many days after the first."""
    job_id = add_job(database, f"j{100 + number}", "cuda:0", JobState.SUCCEEDED, found)
    with database.write() as session:
        session.query(MeasurementRow).filter(MeasurementRow.job_id == job_id).update(
            {"created_at": BEGUN + number * DAY_S}
        )


def sentences(client: TestClient, address: str = ADDRESS) -> list[str]:
    return [sentence.replace(THIN, " ") for sentence in get(client, address).context["sentences"]]


def traces(client: TestClient, address: str = ADDRESS) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(get(client, address).context["chart"].url).json()["data"]
    assert {trace["meta"]["role"] for trace in found} <= set(get_args(Role))
    return found


def test_a_step_with_another_driver_is_the_answer(client: TestClient, follow: Follow) -> None:
    follow({"split/tile": SLOWER, "csr/vector": (*FLAT, *FLAT)}, UPDATED)
    page = get(client, ADDRESS)
    assert "split/tile became 5.0 % slower on 2025-11-07" in words(page.text)
    (sentence,) = sentences(client)
    assert all(part in sentence for part in ("2025-11-07", "20.0 µs", "21.0 µs", "driver 580.1 → 590.2"))
    assert [row[:3] for row in page.context["points"].rows] == [("2025-11-07 00:00", "split/tile", "slower")]
    assert [row[-1] for row in page.context["environment_changes"].rows] == ["1"]
    assert "<code>split/tile</code> became" in page.text


def test_the_figure_has_a_panel_a_case_with_levels_points_and_letters(client: TestClient, follow: Follow) -> None:
    follow({"csr/vector": (*FLAT, *FLAT), "split/tile": SLOWER}, UPDATED)
    drawn = client.get(get(client, ADDRESS).context["chart"].url).json()
    assert [each["text"] for each in drawn["layout"]["annotations"]] == ["split/tile", "csr/vector"]
    of_first = [trace for trace in drawn["data"] if trace.get("xaxis", "x") == "x"]
    mark, level, points = of_first
    assert (mark["text"], mark["x"]) == (["", "A"], ["2025-11-07 00:00:00"] * 2)
    assert mark["hovertext"][0] == "driver 580.1 → 590.2"
    assert [y and round(y, 2) for y in level["y"]] == [20.0, 20.0, None, 21.0, 21.0, None]
    assert level["x"][:2] == ["2025-11-01 00:00:00", "2025-11-06 00:00:00"]
    assert [round(y, 2) for y in points["y"]] == [round(time, 2) for time in SLOWER]
    assert [round(y, 3) for y in points["error_y"]["array"]] == [round(time * 0.002, 3) for time in SLOWER]
    assert drawn["layout"]["yaxis"]["title"]["text"] == "µs"
    assert drawn["layout"]["xaxis2"]["title"]["text"].endswith("UTC")
    assert drawn["layout"]["meta"]["provenance"] == {
        "title": CASE_HISTORY.title,
        "lines": [f"cnr-2000, {ON_GPU}, warm"],
    }


def test_a_spike_is_no_change_point_and_stands_off_the_scale(client: TestClient, follow: Follow) -> None:
    times = [*FLAT, *FLAT]
    times[5] *= 3
    follow({"split/tile": times})
    (sentence,) = sentences(client)
    assert all(part in sentence for part in ("split/tile", "2025-11-01", "2025-11-12"))
    _, points, spikes = traces(client)
    assert (len(points["x"]), spikes["x"], spikes["name"]) == (11, ["2025-11-06 00:00:00"], "off the scale")
    assert max(points["y"]) < spikes["y"][0] < 25
    assert "60.0\u202fµs" in spikes["hovertext"][0]
    assert get(client, ADDRESS).context["points"].rows == ()


def test_an_environment_that_changed_without_a_step_is_told(client: TestClient, follow: Follow) -> None:
    follow({"split/tile": (*FLAT, *FLAT)}, UPDATED)
    assert sentences(client)[1].startswith("On 2025-11-07: driver 580.1 → 590.2")
    assert [row[-1] for row in get(client, ADDRESS).context["environment_changes"].rows] == ["0"]


def test_a_short_history_says_so(client: TestClient, follow: Follow) -> None:
    follow({"split/tile": FLAT[:4]})
    assert "4" in sentences(client)[0]
    assert len(get(client, ADDRESS).context["measurements"].rows) == 4


def test_one_measurement_is_no_history(client: TestClient, lab: Lab) -> None:
    assert "once" in sentences(client)[0]


def test_the_page_follows_the_jobs_that_measure_there(client: TestClient, lab: Lab) -> None:
    assert get(client, "/history?matrix=m1&device=cpu").context["topics"] == f"job:{lab.running}"
    assert get(client, ADDRESS).context["topics"] == ""


def test_an_empty_service_says_what_to_do(client: TestClient) -> None:
    page = get(client, "/history")
    assert page.status_code == 200
    assert "Measure a <a" in page.text
    assert "<table" not in page.text


def test_what_was_recorded_elsewhere_has_no_history(client: TestClient, lab: Lab) -> None:
    import_recordings.take(lab.database, file_of(sample()), "node7")
    matrix = f"recorded-{sample().matrices[1].fingerprint[:16]}"
    for address in (f"/history?matrix={matrix}", f"/history?matrix={matrix}&device=recorded:node7"):
        page = get(client, address)
        assert page.context["sentences"] == (RECORDED,)
        assert page.context["chart"].version == "0"


def test_without_a_choice_it_is_the_place_of_the_newest_job(client: TestClient, lab: Lab, follow: Follow) -> None:
    follow({"split/tile": FLAT})
    page = get(client, "/history").context
    assert [(field.name, [o.value for o in field.options if o.chosen]) for field in page["selects"]] == [
        ("study", ["formats"]),
        ("matrix", ["m1"]),
        ("device", ["cuda:0"]),
    ]
    on_cpu = get(client, "/history?matrix=m1&device=cpu").context
    assert {kernel.value for kernel in on_cpu["kernels"]} == {"coo/segmented", "csr/scalar", "csr/vector"}
    assert get(client, "/history?matrix=m2").context["selects"][2].options[0].value == "cpu"
    assert [link.href for link in page["caches"].links] == [
        f"/history?matrix=m1&device=cuda%3A0&cache={cache}&study=formats" for cache in ("cold", "warm")
    ]


def test_kernels_are_chosen_else_those_that_changed_and_the_fastest_are_drawn(
    client: TestClient, follow: Follow
) -> None:
    kernels = [f"csr/k{number}" for number in range(DRAWN_MAX + 4)]
    follow({kernel: scaled(FLAT * 2, 1 + number) for number, kernel in enumerate(kernels)} | {"ell/thread": SLOWER})
    drawn = client.get(get(client, ADDRESS).context["chart"].url).json()["layout"]["annotations"]
    assert [each["text"] for each in drawn] == ["ell/thread", *kernels[: DRAWN_MAX - 1]]
    chosen = get(client, f"{ADDRESS}&kernel=csr/k7&kernel=csr/k6")
    assert {row[2] for row in chosen.context["measurements"].rows} == {"csr/k6", "csr/k7"}
    assert [choice.value for choice in chosen.context["kernels"] if choice.chosen] == ["csr/k6", "csr/k7"]
    assert "kernel=csr%2Fk7" in chosen.context["data"]
    assert len(client.get(chosen.context["data"]).json()["items"]) == 2


def test_pages_of_a_matrix_and_of_cases_lead_here(client: TestClient, lab: Lab) -> None:
    assert 'href="/history?matrix=m1"' in get(client, "/matrices/m1").text
    page = get(client, "/formats?job=j2")
    (address,) = {line.history for line in page.context["findings"]}
    assert address == "/history?matrix=m1&device=cuda%3A0&cache=warm&study=formats"
    assert address.replace("&", "&amp;") in page.text
    assert get(client, address).context["matrix"].text == "cnr-2000"


def test_what_was_recorded_has_no_link_here(client: TestClient, lab: Lab) -> None:
    import_recordings.take(lab.database, file_of(sample()), "node7")
    lines = get(client, "/formats?device=recorded:node7").context["findings"]
    assert {line.history for line in lines} == {""}


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("matrix=gone", 404, "matrix 'gone'"),
        ("study=gone", 422, "study 'gone'"),
        ("matrix=m1&matrix=m2", 422, "matrix is given 2 times"),
        ("cache=warm&cache=cold", 422, "cache is given 2 times"),
        ("job=j1", 422, "parameter 'job'"),
    ],
)
def test_what_cannot_be_followed_is_refused(client: TestClient, lab: Lab, query: str, status: int, said: str) -> None:
    answer = client.get(f"/history?{query}")
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True)


def test_names_of_strangers_are_text(client: TestClient, lab: Lab, add_matrix: AddMatrix) -> None:
    text = get(client, f"/history?matrix={lab.hostile}").text
    assert "<script>alert" not in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text


def test_the_axis_ends_at_the_medians_and_its_ticks_have_commas(client: TestClient, follow: Follow) -> None:
    follow({"split/tile": (*FLAT, *FLAT)})
    axis = client.get(get(client, ADDRESS).context["chart"].url).json()["layout"]["yaxis"]
    assert axis["tickformat"].startswith(",")
    assert axis["range"][1] <= 1.05 * max(FLAT)
