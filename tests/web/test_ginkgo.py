"""Results of Ginkgo's benchmark on the pages: no rounds, no intervals, no floors, and no error."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from gpu_engine.recordings.files import uploaded
from server import devices, import_recordings
from server.db import Database
from server.models import JobState, MatrixRow
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.samples.formats import study_of
from tests.samples.ginkgo import file_of, newer, older
from tests.samples.recording import sample
from tests.server.test_recordings import file_of as recording_of
from tests.web.conftest import CPU, add_job, get
from web.studies.formats import FORMATS

A100 = "recorded:a100"


@pytest.fixture
def own(database: Database, add_matrix: AddMatrix) -> str:
    """A matrix of the user, measured on the CPU, which Ginkgo's benchmark has multiplied elsewhere."""
    devices.register(database, [CPU])
    matrix = BATTERY["tall"]()
    matrix_id = add_matrix(matrix, "tall", "m1")
    with database.write() as session:
        row: Any = session.get(MatrixRow, matrix_id)
        row.source = uploaded("tall.mtx")
    sizes = {"rows": matrix.n_rows, "cols": matrix.n_cols, "nonzeros": matrix.nnz}
    add_job(database, "j1", "cpu", JobState.SUCCEEDED, study_of(matrix_id))
    import_recordings.take(database, file_of(newer("tall.mtx", hybrid={"completed": False}) | sizes), "a100")
    return matrix_id


def test_every_page_shows_the_device(client: TestClient, own: str) -> None:
    for page in ("/", "/service", "/matrices?source=all", f"/matrices/{own}", "/papers", f"/formats?device={A100}"):
        assert client.get(page, headers={"Accept": "text/html"}).status_code == 200, page
    for figure in FORMATS.figures:
        assert client.get(f"/api/v1/figures/{figure.name}?device={A100}").status_code == 200, figure.name
    device = get(client, "/service").context["devices"][1].row
    assert (device.id, device.memory, device.cache, device.rate, device.points) == (A100, "–", "–", "–", ())
    assert "seconds" in dict(device.details)["times"]


def test_nothing_is_faster_or_slower_there(client: TestClient, own: str) -> None:
    page = get(client, f"/formats?device={A100}")
    (finding,) = [line.finding for line in page.context["findings"]]
    # Nobody has said when it was measured.
    assert page.context["provenance"].lines == ("a100 (reference results)",)
    assert {row.label: row.word for row in finding.rows} == {
        "ginkgo/ell": "inconclusive",
        "ginkgo/csr": "baseline",
        "ginkgo/coo": "inconclusive",
        "ginkgo/hybrid": "failed",
    }
    assert (finding.leaders, finding.decided) == (("ginkgo/ell",), False)
    assert "single timings" in finding.sentences[1]
    figure = client.get(f"/api/v1/figures/formats?device={A100}").json()
    bars = [trace for trace in figure["data"] if trace["meta"]["role"] == "kernel"]
    assert [bar["error_x"]["visible"] for bar in bars] == [False] * 3


def test_results_stand_beside_ones_own_and_are_compared_by_their_ratio(client: TestClient, own: str) -> None:
    for device, fastest in (("cpu", "csr/vector"), (A100, "ginkgo/ell")):
        page = get(client, f"/matrices/{own}?device={device}").context
        assert page["kernels"].rows[0].kernel == fastest
        assert [parse_qs(urlsplit(link.href).query)["device"] for link in page["devices"] if link.current] == [[device]]
    pair = get(client, f"/devices/compare?first=cpu&second={A100}")
    (row,) = pair.context["matrices"].rows
    assert (row[0], row[2], row[4]) == ("tall", "csr/vector", "ginkgo/ell")
    # 800 µs here, 16 µs there.
    assert row[6].startswith("50.0")
    assert pair.context["kernels"].rows == ()


def test_devices_without_a_common_matrix_say_so(client: TestClient, own: str, database: Database) -> None:
    import_recordings.take(database, file_of(older()), "v100")
    assert get(client, "/devices/compare?first=cpu&second=recorded:v100").context["matrices"].rows == ()


def test_an_imported_device_comes_after_those_of_the_release(client: TestClient, own: str, database: Database) -> None:
    row, _ = import_recordings.take(database, recording_of(sample()), "h200")
    with database.write() as session:
        session.merge(row).imported = False
    offered = [device.row.id for device in get(client, "/service").context["devices"]]
    assert offered == ["cpu", "recorded:h200", A100]
    chosen = get(client, "/papers/pellr").context["devices"]
    assert [link.text for link in chosen if link.current] == ["NVIDIA H200 (reference results)"]
