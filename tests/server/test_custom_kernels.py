"""Custom kernels on a server: those of the operator's folder, chosen by name, never by path and never by upload."""

import dataclasses
import os
import pickle
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.host.device import find_device
from gpu_engine.measure import cpu
from gpu_engine.records import MatrixInfo, Measurement
from gpu_engine.studies import study
from gpu_engine.studies.formats import FormatsParams
from gpu_engine.studies.pagerank import PagerankParams
from server import devices
from server.custom_kernels import known_custom_kernels, located
from server.db import Database
from server.jobs.task import StudyTask, run_study
from server.settings import Settings
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.samples.studies import FAST
from tests.users import needs_root

OWN = FormatsParams(kernels=("csr/vector",), rounds=9, energy_s=0.0, custom_kernels=("spmv.py:ROWS", "spmv.py:TWICE"))

FILE = """
from gpu_engine.custom_kernels import CustomKernel

def multiply(state, x, y):
    y[:] = state @ x

def twice(state, x, y):
    y[:] = 2 * (state @ x)

ROWS = CustomKernel(lambda matrix: matrix.to_scipy(), multiply)
TWICE = CustomKernel(lambda matrix: matrix.to_scipy(), twice)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "own"
    found.mkdir(mode=0o755)
    (found / "spmv.py").write_text(FILE, encoding="utf-8")
    (found / "spmv.py").chmod(0o644)
    return found


@pytest.fixture
def settings(home: Path, folder: Path) -> Settings:
    return Settings(home=home, custom_kernels=str(folder))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ""),
        ({"SPARSIGHT_CUSTOM_KERNELS": "/present"}, "/present"),
        ({"SPARSIGHT_CONTESTANTS": "/former"}, "/former"),
        ({"SPARSIGHT_CONTESTANTS": "/former", "SPARSIGHT_CUSTOM_KERNELS": "/present"}, "/present"),
        ({"CUSTOM_KERNELS": "/of-another-program"}, ""),
    ],
)
def test_the_former_variable_names_the_folder_too(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("SPARSIGHT_CUSTOM_KERNELS", "SPARSIGHT_CONTESTANTS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Settings().custom_kernels == expected


def test_a_job_names_what_the_folder_has(settings: Settings, folder: Path) -> None:
    assert known_custom_kernels(settings) == OWN.custom_kernels
    assert located(OWN, settings).custom_kernels == tuple(f"{folder}/{name}" for name in OWN.custom_kernels)


@pytest.mark.parametrize("name", ["other.py:ROWS", "../own/spmv.py:ROWS", "/etc/spmv.py:ROWS", "spmv.py:OTHER"])
def test_what_it_has_not_is_refused_with_what_there_is(settings: Settings, name: str) -> None:
    with pytest.raises(ParameterError, match=r"There is no custom kernel .*; known: spmv\.py:ROWS, spmv\.py:TWICE\."):
        located(FormatsParams(custom_kernels=(name,)), settings)


def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    bare = Settings(home=tmp_path)
    assert known_custom_kernels(bare) == ()
    with pytest.raises(ParameterError, match="This server has no custom kernels"):
        located(OWN, bare)
    assert located(PagerankParams(), bare) == PagerankParams()


@pytest.mark.parametrize("bit", [0o002, 0o020])
@pytest.mark.parametrize("opened", ["own", "own/spmv.py", "own/k.cu", "own/lib", "own/lib/helper.py", "."])
def test_what_others_can_write_is_not_run(settings: Settings, folder: Path, opened: str, bit: int) -> None:
    (folder / "lib").mkdir()
    for name in ("k.cu", "lib/helper.py"):
        (folder / name).touch(mode=0o644)
    assert known_custom_kernels(settings) == OWN.custom_kernels
    path = folder.parent / opened
    path.chmod(path.stat().st_mode | bit)
    assert known_custom_kernels(settings) == ()
    with pytest.raises(ParameterError, match="other users can write it"):
        located(OWN, settings)


@needs_root
@pytest.mark.parametrize("owned", ["own", "own/spmv.py", "."])
def test_what_belongs_to_another_user_is_not_run(settings: Settings, folder: Path, owned: str) -> None:
    os.chown(folder.parent / owned, 65534, 65534)
    assert known_custom_kernels(settings) == ()


def test_a_call_takes_those_alone_and_the_form_lists_them(
    client: TestClient, add_matrix: AddMatrix, database: Database
) -> None:
    devices.register(database, [find_device("cpu")])
    matrix = add_matrix(BATTERY["band"]())
    body = {"study": "formats", "matrix_ids": [matrix], "device": "cpu", "params": {"custom_kernels": ["spmv.py:ROWS"]}}
    taken = client.post("/api/v1/jobs", json=body)
    assert (taken.status_code, taken.json()["params"]["custom_kernels"]) == (202, ["spmv.py:ROWS"])
    refused = client.post("/api/v1/jobs", json={**body, "params": {"custom_kernels": ["/tmp/spmv.py:ROWS"]}})
    assert refused.status_code == 422
    assert "known: spmv.py:ROWS, spmv.py:TWICE" in refused.json()["detail"]
    form = f"/measure?matrix_ids={matrix}"
    assert f'href="{form}"' in client.get(f"/matrices/{matrix}").text
    for address in ("/measure", form):
        assert 'value="spmv.py:TWICE"' in client.get(address).text


def test_the_process_that_measures_imports_them_and_refuses_what_is_wrong(
    settings: Settings, add_matrix: AddMatrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(cpu, "SAMPLE_S", 4e-4)
    band: CsrMatrix = BATTERY["band"]()
    matrix = add_matrix(band)
    device = dataclasses.replace(find_device("cpu"), cache_bytes=2**18)
    info = MatrixInfo(matrix, "band", *band.shape, band.nnz)
    formats = study("formats")
    cases = tuple(formats.cases(OWN, [info], device))
    params, store = located(OWN, settings), settings.resolved_store
    task = StudyTask(formats, params, cases, (matrix,), store, device, FAST, 0, tmp_path / "crash", tmp_path / "stop")
    said = [record for record in run_study("", pickle.dumps(task)) if isinstance(record, Measurement)]
    assert {m.case for m in said} == {case.key for case in cases}
    assert {m.kernel: m.state for m in said} == {
        "csr/vector": "ok",
        "custom:spmv/rows": "ok",
        "custom:spmv/twice": "failed",
    }
    assert all(m.note.startswith("Wrong result: row ") for m in said if m.state == "failed")
