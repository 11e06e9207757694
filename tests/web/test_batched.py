"""What only `/batched` has: the size of a batch, the operation, mixed batches and who is in them."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from gpu_engine.recordings import files
from gpu_engine.recordings.files import Recording
from server import devices, import_recordings
from server.db import Database
from server.models import JobState
from tests.conftest import AddMatrix
from tests.samples.batched import copies, mixed, multiplied, refused
from tests.samples.recording import H200, PROFILE, grid
from tests.web.conftest import CPU, GPU, ON_GPU, add_job, add_study, get, sample_matrix, words
from web.studies.batched import CPU_CAVEAT
from web.views.answer import ABSENT_NOTE, FIVE_NOTE


@pytest.fixture
def batched(database: Database, add_matrix: AddMatrix) -> str:
    """Two matrices with a job on the CPU, j2, and a newer one on the GPU, j3."""
    devices.register(database, [CPU, GPU])
    first, second = add_matrix(sample_matrix(), "west0989", "m1"), add_matrix(sample_matrix(), "nos3", "m2")
    add_study(database, "batched", "j2", (first, second))
    add_study(database, "batched", "j3", (first, second), "cuda:0")
    return first


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("batch=many", "batch is 'many'. Give a number of matrices"),
        ("batch=0", "batch is '0'"),
        ("batch=10&batch=100", "batch is given 2 times."),
        ("operation=y%3DAx&operation=y%3DAx%2By", "operation is given 2 times."),
    ],
)
def test_what_is_no_batch_is_refused(client: TestClient, batched: str, query: str, said: str) -> None:
    for url in (f"/batched.csv?{query}", f"/api/v1/figures/batched-growth?{query}"):
        response = client.get(url)
        assert response.status_code == 422
        assert said in response.json()["detail"]


def test_the_page_takes_the_nearest_batch_size_and_says_so(client: TestClient, batched: str) -> None:
    for query, is_said, twin in (
        ("batch=0", True, "batch=1"),
        ("batch=1e1", False, "batch=10"),
        ("batch=many", True, ""),
    ):
        page, same = (get(client, f"/batched?{each}") for each in (query, twin))
        assert bool(page.context["number_note"]) == ('id="number-note"' in page.text) == is_said
        assert page.context["explore"] == same.context["explore"]
        assert same.context["number_note"] == ""


def test_times_of_a_cpu_are_called_so(client: TestClient, batched: str) -> None:
    assert CPU_CAVEAT in words(get(client, "/batched?device=cpu").text)
    assert get(client, "/batched?device=cuda:0").context["caveat"] == ""


def test_a_batch_of_each_matrix_and_of_all_has_its_verdict_and_its_address(client: TestClient, batched: str) -> None:
    page = get(client, "/batched")
    assert [(line.finding.title, line.href) for line in page.context["findings"]] == [
        (
            "2 matrices mixed (west0989 and nos3), 1,000 matrices",
            "/batched?matrix=m1&matrix=m2&device=cuda%3A0&cache=warm",
        ),
        ("west0989, 1,000 matrices", "/batched?matrix=m1&device=cuda%3A0&cache=warm"),
        ("nos3, 1,000 matrices", "/batched?matrix=m2&device=cuda%3A0&cache=warm"),
    ]
    (answer,) = page.context["answers"]
    assert answer.sentence.startswith("coo/segmented and csri/warp ")
    assert "over 3 batches on NVIDIA H200 (cuda:0), warm" in answer.sentence
    assert ABSENT_NOTE in answer.note
    assert answer.note.endswith(FIVE_NOTE)
    alone = get(client, page.context["findings"][2].href).context
    assert [line.finding.title for line in alone["findings"]] == ["nos3, 1,000 matrices"]
    statements = get(client, "/batched?view=conclusions").context["conclusions"]
    assert {row[4] for row in statements.tables[0].table.rows} == {ON_GPU}


def test_without_two_matrices_of_a_kind_their_figure_is_a_sentence(client: TestClient, batched: str) -> None:
    (density,) = (
        f for f in get(client, "/batched?job=j3&view=batched-density").context["figures"] if f.name == "batched-density"
    )
    assert (density.table, density.chart.version) == (None, "0")
    assert density.note


def test_the_address_chooses_the_size_and_the_operation(client: TestClient, database: Database, batched: str) -> None:
    other = [multiplied("csr/smart", 7.0, 100, "m1", operation="y=Ax"), *copies("m1", batch_size=100)]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, other, study="batched")
    context = get(client, "/batched?job=j3&batch=10").context
    assert {line.finding.axes["batch"] for line in context["findings"]} == {"10"}
    (sizes,) = (switch for switch in context["switches"] if switch.label == "Batch size")
    assert [(link.text, link.current) for link in sizes.links] == [
        ("the largest", False),
        ("10", True),
        ("1,000", False),
    ]
    assert [link.href for link in sizes.links] == [
        f"/batched?job=j3{size}" for size in ("", "&batch=10", "&batch=1000")
    ]
    assert context["selects"] == ()
    assert context["hidden"] == (("job", "j3"), ("batch", "10"))
    assert [switch.label for switch in context["switches"]] == ["Device", "Cache", "Batch size"]
    page = get(client, "/batched?job=j4")
    (both,) = (s for s in page.context["switches"] if s.label == "Operation")
    # More chips do not stand on one line beside the tabs: the last menu has the other switches.
    bar, menu = page.text.split('<details id="options"', 1)
    assert 'id="chip-batch-size"' in bar
    assert ('id="chip-operation"' in bar, 'aria-label="Operation"' in menu.partition("</form>")[0]) == (False, True)
    assert [(link.text, link.current) for link in both.links] == [("y=Ax+y", True), ("y=Ax", False)]
    there = get(client, both.links[1].href).context
    assert [row.label for line in there["findings"] for row in line.finding.rows] == ["csr/smart"]
    drawn = client.get(f"/api/v1/figures/batched-winners?{both.links[1].href.partition('?')[2]}").json()
    assert [trace["x"] for trace in drawn["data"]] == [[7.0]]


def test_the_page_of_a_job_has_the_largest_batches(client: TestClient, database: Database, batched: str) -> None:
    page = get(client, "/jobs/j3").context
    assert [group.row.finding.axes["batch"] for group in page["groups"]] == ["1000"] * 3
    cold = [multiplied("csr/smart", 7.0, cache="cold", matrix="m1")]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, cold, study="batched")
    page = get(client, "/jobs/j4").context
    assert [group.row.finding.cache for group in page["groups"]] == ["cold"]


def titles(client: TestClient, address: str) -> list[str]:
    return [line.finding.title.partition(",")[0] for line in get(client, address).context["findings"]]


def test_a_newer_job_of_its_first_matrix_alone_does_not_hide_a_mixture(
    client: TestClient, database: Database, batched: str
) -> None:
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, copies("m1", batch_size=10), study="batched")
    both = "/batched?matrix=m1&matrix=m2&device=cuda:0"
    page = get(client, both)
    assert titles(client, both) == ["2 matrices mixed (west0989 and nos3)", "west0989", "nos3"]
    assert [line.finding.axes["batch"] for line in page.context["findings"]] == ["1000", "10", "1000"]
    assert {link.href for link in page.context["jobs"]} == {"/jobs/j3", "/jobs/j4"}
    # A mixture is neither of its first matrix nor of any other.
    for matrix in ("m1", "m2"):
        assert len(titles(client, f"/batched?matrix={matrix}&device=cuda:0")) == 1
        assert all("mixed" not in line.finding.title for line in get(client, f"/matrices/{matrix}").context["others"])


def test_mixtures_of_one_first_matrix_stand_beside_each_other_each_of_its_newest_job(
    client: TestClient, database: Database, batched: str, add_matrix: AddMatrix
) -> None:
    add_matrix(sample_matrix(), "arc130", "m3")
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, mixed("m1", "m3"), ("m1", "m3"), study="batched")
    add_job(
        database, "j5", "cuda:0", JobState.SUCCEEDED, mixed("m1", "m3", batch_size=10), ("m1", "m3"), study="batched"
    )
    failed = mixed("m1", "m2", batch_size=100)
    add_job(database, "j6", "cuda:0", JobState.FAILED, failed, ("m1", "m2"), study="batched")
    every = get(client, "/batched?matrix=m1&matrix=m2&matrix=m3&device=cuda:0").context["findings"]
    mixtures = [line for line in every if "mixed" in line.finding.title]
    assert {(line.finding.title.partition(",")[0], line.finding.axes["batch"]) for line in mixtures} == {
        ("2 matrices mixed (west0989 and nos3)", "1000"),
        ("2 matrices mixed (west0989 and arc130)", "10"),
    }
    assert titles(client, "/batched?matrix=m1&matrix=m3&device=cuda:0")[0] == "2 matrices mixed (west0989 and arc130)"
    assert titles(client, "/batched?job=j4") == ["2 matrices mixed (west0989 and arc130)"]
    add_job(database, "j7", "cuda:0", JobState.SUCCEEDED, mixed("m1", "m2", "m3"), ("m1", "m2", "m3"), study="batched")
    of_two = get(client, "/batched?matrix=m1&matrix=m2&device=cuda:0").context["findings"]
    assert [line.finding.title for line in of_two if "mixed" in line.finding.title] == [
        "2 matrices mixed (west0989 and nos3), 1,000 matrices"
    ]


def test_recorded_batches_name_their_members(client: TestClient, database: Database, tmp_path: Path) -> None:
    found = (*copies("grid", H200.id), *mixed("grid", "elsewhere", device=H200.id, mixture=""))
    recording = Recording("batched", "2026-11-20T12:00:00+00:00", H200, PROFILE, (grid(),), found, ())
    files.write(tmp_path / "recorded" / "h200" / "batched.json.gz", recording)
    import_recordings.run(database, tmp_path / "recorded")
    page = get(client, "/batched")
    titles = [line.finding.title.partition(",")[0] for line in page.context["findings"]]
    assert titles == ["2 matrices mixed", "a grid"]
    there = get(client, page.context["findings"][0].href).context["findings"]
    assert [line.finding.title.partition(",")[0] for line in there] == titles
    (mixtures,) = get(client, "/batched?view=batched-mixed").context["figures"]
    assert {row[-1] for row in mixtures.table.rows} == {"grid, elsewhere"}


def test_all_matrices_of_a_job_are_shown(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    names = [add_matrix(sample_matrix(), f"m{number}", f"m{number}") for number in range(25)]
    found = [multiplied("csr/smart", 7.0, matrix=name) for name in names]
    add_job(database, "j1", "cuda:0", JobState.SUCCEEDED, found, study="batched")
    assert len(get(client, "/batched").context["findings"]) == 25


def test_what_was_skipped_says_why(client: TestClient, database: Database, batched: str) -> None:
    found = [multiplied("csr/smart", 7.0, matrix="m1"), refused("cusparse/chain", "one launch a problem", matrix="m1")]
    add_job(database, "j4", "cuda:0", JobState.SUCCEEDED, found, study="batched")
    page = get(client, "/batched?job=j4&view=cases")
    assert page.context["findings"][0].finding.rows[-1].reason == "one launch a problem"
    assert "one launch a problem" in words(page.text)
