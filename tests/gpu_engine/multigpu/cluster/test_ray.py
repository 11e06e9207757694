"""Products iterated by actors on two Ray nodes, one of whose processes, and one of which, is killed on the way."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.partition import find_partitioning
from tests.battery import coo
from tests.gpu_engine.multigpu.cluster.test_matrix import rows_with_remote
from tests.gpu_engine.multigpu.stored import crossed, stored
from tests.gpu_engine.multigpu.test_exchange import iterated

ROOT = Path(__file__).parents[4]
N, N_LARGE = 120, 60_000
X = np.arange(float(N)) % 7 - 3

NO_RAY = importlib.util.find_spec("ray") is None and os.environ.get("CI") != "true"
CLUSTER = ("cluster/*", "placement")
pytestmark = [
    pytest.mark.skipif(NO_RAY, reason="Ray is not installed."),
    pytest.mark.full(
        *(f"gpu_engine/multigpu/{module}.py" for module in CLUSTER),
        *("tests/gpu_engine/multigpu/cluster/test_ray.py", "tests/gpu_engine/multigpu/cluster/ray_scenarios.py"),
    ),
]


def rotation(n: int) -> CsrMatrix:
    """yᵢ = 2·xᵢ₊₁, the last one from the first."""
    return coo(n, n, np.arange(n), (np.arange(n) + 1) % n, np.full(n, 2.0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cluster")
    for name, matrix, x in (("crossed", crossed(N), X), ("large", rotation(N_LARGE), np.arange(float(N_LARGE)))):
        np.save(stored(folder / name, matrix) / "x.npy", x)
    return folder


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    """What all scenarios tell."""
    command = [sys.executable, "-m", "tests.gpu_engine.multigpu.cluster.ray_scenarios", str(folder)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=500)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found: dict[str, Any] = json.loads((folder / "told.json").read_text())
    assert [scenario["traceback"] for scenario in found.values() if "traceback" in scenario] == []
    return found


def test_actors_on_two_nodes_find_what_scipy_finds(told: dict[str, Any]) -> None:
    """Of four equal parts three have a piece of the full row; each actor has taken its own part."""
    both, nnz = told["iterated"], crossed(N).nnz
    assert both["first"]["found"] == iterated(crossed(N), X, 7)[0].tolist()
    assert both["second"]["found"] == iterated(crossed(N), X[::-1], 3)[0].tolist()
    assert sum(both["first"]["spans"]) == nnz
    assert max(both["first"]["spans"]) - min(both["first"]["spans"]) <= 1
    # Twelve bytes an entry; local entries have a pointer more than rows, of cut rows in each part, remote ones the
    # same of the rows that have some, and the numbers of these.
    spans = cut_by_entries(find_partitioning("pCSR").store(crossed(N)), (4,))
    remote = sum(2 * rows_with_remote(span) + 1 for span in spans)
    assert sum(both["bytes"]) == 12 * nnz + 4 * (N + 4 + 2) + 4 * remote


def test_large_slices_go_through_the_object_store(told: dict[str, Any], folder: Path) -> None:
    assert told["large"] == {}
    np.testing.assert_array_equal(np.load(folder / "large" / "found.npy"), 4.0 * np.roll(np.arange(float(N_LARGE)), -2))


def test_the_error_names_the_device_whose_process_was_killed(told: dict[str, Any]) -> None:
    killed = told["killed"]
    assert killed["error"] == "DeviceLostError"
    assert killed["places"][1].startswith("b/virtual:0 (node ")
    assert f"before iteration 4 was complete: {killed['places'][1]}. The actor" in killed["message"]


def test_the_others_go_on_without_a_killed_process(told: dict[str, Any]) -> None:
    """From the vector of the second iteration; the product of seven is whole."""
    killed = told["killed_and_continued"]
    assert killed["losses"] == [[killed["places"][1], 4, 2]]
    assert killed["found"] == iterated(crossed(N), X, 7)[0].tolist()
    assert len(killed["spans"]) == 2


def test_the_others_go_on_without_a_killed_node(told: dict[str, Any]) -> None:
    """Ray may tell of its second device only when that is to start anew, before iteration 3."""
    node = told["node"]
    (first, *loss), (second, *later) = node["losses"]
    assert {first, second} == set(node["places"][1:])
    assert (loss, later) in [([4, 2], [4, 2]), ([4, 2], [3, 2])]
    assert node["found"] == iterated(crossed(N), X, 7)[0].tolist()
    assert len(node["spans"]) == 1
