"""Short names of devices."""

import re

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from server.models import DeviceRow
from tests.web.conftest import Lab, add_study, get
from web.device_labels import place_of, short


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA H100 80GB HBM3 (recorded)", "H100"),
        ("NVIDIA H100 80GB HBM3 (reference results)", "H100"),
        ("NVIDIA H100 80GB HBM3 (cuda:0)", "H100 (cuda:0)"),
        ("NVIDIA H200 (recorded)", "H200"),
        ("2 × NVIDIA H200 (recorded)", "2\u202f×\u202fH200"),
        ("NVIDIA A100-SXM4-40GB (recorded), lower triangles", "A100-SXM4-40GB, lower triangles"),
        ("NVIDIA H100 80GB HBM3 (recorded), cold", "H100, cold"),
        ("cpu", "CPU"),
        ("gpu1/cpu", "gpu1/cpu"),
    ],
)
def test_a_short_name_has_the_model_and_what_tells_devices_apart(name: str, expected: str) -> None:
    assert short(name) == expected


PAGES = (
    "/", "/matrices", "/matrices/m1", "/matrices/m1?device=cpu", "/jobs", "/jobs/j1", "/jobs/j2", "/jobs/j3",
    "/jobs/j4", "/jobs/j5", "/jobs/j6", "/jobs/j7", "/jobs/j8", "/measure?matrix_ids=m1", "/formats",
    "/pagerank?job=j8", "/batched?job=j6", "/scaling?job=j7", "/service", "/history?matrix=m1", "/devices/compare",
)  # fmt: skip
UNSEEN = re.compile(r"<(script|style|code|pre|template)\b.*?</\1>|<[^>]*>", re.S)
BARE = re.compile(r"(?<!this server, )(?<![\w(/:-])(?:cpu|cuda:\d+)(?![\w)/:-])")


@pytest.fixture
def away(lab: Lab) -> Lab:
    for study, job in (("pagerank", "j8"), ("batched", "j6"), ("scaling", "j7")):
        add_study(lab.database, study, job, (lab.matrix, lab.hostile))
    with lab.database.write() as session:
        session.execute(update(DeviceRow).values(seen_at=0.0))
    return lab


def test_pages_call_devices_by_their_names(client: TestClient, away: Lab) -> None:
    bare: dict[str, list[str]] = {}
    for path in PAGES:
        answer = get(client, path)
        assert answer.status_code == 200, path
        text = UNSEEN.sub(" ", answer.text)
        if ids := [text[max(0, m.start() - 60) : m.end() + 30].replace("\n", " ") for m in BARE.finditer(text)]:
            bare[path] = ids
    assert not bare, "\n".join(f"{path}: {text}" for path, ids in bare.items() for text in ids)


def test_single_devices_come_first_and_the_newest_model_before_the_others() -> None:
    names = ["4 × NVIDIA H200", "NVIDIA A10", "2 × NVIDIA H100", "NVIDIA H100", "2 × NVIDIA H200", "NVIDIA H200"]
    assert sorted(names, key=place_of) == [names[place] for place in (5, 3, 1, 4, 2, 0)]
