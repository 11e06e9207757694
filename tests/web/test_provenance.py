"""Where shown results come from: once, folded, below all, and in pictures."""

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gpu_engine.recordings import files
from server import import_recordings
from server.models import JobState
from tests.samples.formats import timed
from tests.samples.recording import sample
from tests.web.conftest import ON_GPU, Lab, add_job, get, words

BUILD = {"driver": "580.1", "source": "e0ab0ce32150768c", "matrices": "a, b"}


@pytest.fixture
def measured(lab: Lab) -> Lab:
    """Two kernels on the GPU, at two clocks."""
    kernels = {"csr/vector": (8e-4, 1.98e9), "coo/segmented": (9e-4, 1.755e9)}
    found = [timed(k, s, device="cuda:0", clock_hz=hz, environment=BUILD) for k, (s, hz) in kernels.items()]
    add_job(lab.database, "j20", "cuda:0", JobState.SUCCEEDED, found)
    return lab


def test_devices_driver_clocks_and_hashes_of_what_is_shown(client: TestClient, measured: Lab) -> None:
    page = get(client, "/formats?job=j20")
    known = page.context["provenance"]
    assert known.devices == (ON_GPU,)
    assert known.environment == (("driver", "580.1"), ("clock of the SMs", "1.75\u202fGHz to 1.98\u202fGHz"))
    assert known.kernels == (("coo/segmented", BUILD["source"]), ("csr/vector", BUILD["source"]))
    assert page.text.count('<details id="provenance">') == 1
    assert re.search(rf"<summary>{re.escape(ON_GPU)}, measured \d{{4}}-\d\d-\d\d</summary>", page.text)
    report = client.get("/formats.html?job=j20").text
    assert BUILD["source"] in report
    assert "1.98\u202fGHz" in report


def test_a_processor_has_its_own_name_and_no_clock(client: TestClient, lab: Lab) -> None:
    known = get(client, "/formats?job=j1").context["provenance"]
    assert known.devices == ("A laptop's processor (cpu)",)
    assert "clock of the SMs" not in dict(known.environment)
    assert get(client, "/pagerank").context["provenance"] is None


def test_what_was_recorded_has_the_day_of_its_recording(client: TestClient, database: Any, tmp_path: Path) -> None:
    files.write(tmp_path / "recorded" / "h200" / "formats.json.gz", sample())
    import_recordings.run(database, tmp_path / "recorded")
    page = get(client, "/formats")
    assert page.context["provenance"].devices == ("NVIDIA H200 (reference results)",)
    assert page.context["provenance"].measured == sample().created_at[:10]
    # No job measured it.
    assert "Measured by" not in words(page.text)
