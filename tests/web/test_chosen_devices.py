"""One device for all pages: the one chosen last, else the one with results of most studies."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import update

from gpu_engine.recordings import files
from server import import_recordings
from server.models import SAMPLES_KEY, JobRow, RecordingRow
from tests.samples.recording import sample
from tests.web.conftest import Lab, add_study, get
from web.chosen_devices import CHOSEN_MAX, COOKIE

GPU, H200 = "cuda:0", "recorded:h200"


def shown(client: TestClient, url: str) -> tuple[str, ...]:
    """The devices that a page says to show."""
    (switch,) = (each for each in get(client, url).context["switches"] if each.label == "Device")
    return tuple(link.text for link in switch.links if link.current)


def test_a_device_stays_until_another_one_is_chosen(client: TestClient, lab: Lab) -> None:
    add_study(lab.database, "pagerank", "j30", [lab.matrix])
    add_study(lab.database, "pagerank", "j31", [lab.matrix], GPU)
    get(client, f"/formats?device={GPU}")
    for page in ("/pagerank", "/formats"):
        assert "device=cuda%3A0" in str(get(client, page).url)
    assert "view=ranking&device" not in str(get(client, "/formats?view=ranking").url)
    assert get(client, "/formats?view=ranking").context["view"] == "ranking"
    get(client, "/formats?device=cpu")
    assert "device=cpu" in str(get(client, "/pagerank").url)


def test_a_page_without_results_of_the_chosen_device_takes_the_one_before(client: TestClient, lab: Lab) -> None:
    add_study(lab.database, "pagerank", "j30", [lab.matrix], GPU)
    for device in ("cpu", GPU, "cpu"):
        get(client, f"/formats?device={device}")
    assert "device=cuda%3A0" in str(get(client, "/pagerank").url)
    assert "device=cpu" in str(get(client, "/formats").url)


def test_addresses_that_name_what_they_show_are_left_alone(client: TestClient, lab: Lab) -> None:
    get(client, f"/formats?device={GPU}")
    for query in ("device=cpu", f"matrix={lab.matrix}", "device=cpu&device=cuda%3A0"):
        assert str(get(client, f"/formats?{query}").url).endswith(f"/formats?{query}")
    assert client.get("/formats.csv").url.query == b""


def test_a_comparison_is_no_choice_and_a_job_is_one(client: TestClient, lab: Lab) -> None:
    get(client, "/formats?device=cpu&device=cuda%3A0")
    assert COOKIE not in client.cookies
    get(client, f"/formats?job={lab.on_gpu}")
    assert "device=cuda%3A0" in str(get(client, "/formats").url)


def test_strange_cookies_change_nothing(client: TestClient, lab: Lab) -> None:
    client.cookies.set(COOKIE, ",".join(["%22x%0d", "\\..", "nowhere"] * CHOSEN_MAX))
    answer = get(client, "/formats")
    assert (answer.status_code, answer.url.query) == (200, b"")


def test_a_matrix_page_takes_and_gives_the_chosen_device(client: TestClient, lab: Lab) -> None:
    address = f"/matrices/{lab.matrix}"
    first = get(client, address).context["device"]
    assert COOKIE not in client.cookies
    other = next(device for device in ("cpu", GPU) if device != first)
    get(client, f"/formats?device={other}")
    page = get(client, f"{address}?n=0&cache=")
    assert (page.context["device"], bool(page.context["n_note"])) == (other, True)
    assert page.url.params["device"] == other
    get(client, f"{address}?device={first}")
    assert f"device={first.replace(':', '%3A')}" in str(get(client, "/formats").url)
    assert get(client, "/").context["devices"][0].value in ("cpu", GPU)
    assert [choice.value for choice in get(client, "/").context["devices"] if choice.chosen] == [first]


def test_a_gpu_model_stands_for_its_device_and_the_device_for_its_model(
    client: TestClient, lab: Lab, tmp_path: Path
) -> None:
    of_h200 = sample()
    of_h100 = replace(of_h200, device=replace(of_h200.device, name="NVIDIA H100"))
    files.write(tmp_path / "recorded" / "h100" / "formats.json.gz", of_h100)
    import_recordings.run(lab.database, tmp_path / "recorded")
    get(client, f"/matrices/{lab.matrix}?device=H100-SXM")
    assert shown(client, "/formats") == ("H100",)
    client.cookies.clear()
    get(client, "/formats?device=recorded:h100")
    assert get(client, f"/matrices/{lab.matrix}").context["device"] == "H100-SXM"


def test_the_first_device_of_a_matrix_page_is_no_choice(client: TestClient, lab: Lab) -> None:
    device = get(client, f"/matrices/{lab.matrix}").context["device"]
    get(client, f"/matrices/{lab.matrix}?device={device}")
    assert COOKIE not in client.cookies


def recorded(database: Any, folder: Path) -> None:
    files.write(folder / "recorded" / "h200" / "formats.json.gz", sample())
    import_recordings.run(database, folder / "recorded")


def test_the_device_of_most_studies_comes_first(client: TestClient, lab: Lab, tmp_path: Path) -> None:
    recorded(lab.database, tmp_path)
    first = shown(client, "/formats")
    assert first == ("CPU",)
    add_study(lab.database, "pagerank", "j30", [lab.matrix], GPU)
    assert shown(client, "/formats") == ("H200 (cuda:0)",)


def test_a_further_study_of_another_gpu_does_not_change_the_first_device(
    client: TestClient, database: Any, tmp_path: Path
) -> None:
    recorded(database, tmp_path)
    whole = sample()
    of_h100 = replace(whole, device=replace(whole.device, name="NVIDIA H100"))
    files.write(tmp_path / "recorded" / "h100" / "formats.json.gz", of_h100)
    import_recordings.run(database, tmp_path / "recorded")
    with database.write() as session:
        row = session.get_one(RecordingRow, "h100/formats")
        fields = {"sha256": "0", "device": row.device, "info": row.info, "profile": row.profile, "created_at": 1.0}
        session.add(RecordingRow(id="h100/spmm", study="spmm", **fields))
    assert shown(client, "/formats") == ("H200",)


def test_the_job_of_the_samples_chooses_no_device(client: TestClient, lab: Lab, tmp_path: Path) -> None:
    recorded(lab.database, tmp_path)
    with lab.database.write() as session:
        session.execute(update(JobRow).where(JobRow.id != lab.succeeded).values(cases_done=0))
        session.execute(update(JobRow).where(JobRow.id == lab.succeeded).values(idempotency_key=SAMPLES_KEY))
    assert shown(client, "/formats") == ("H200",)
