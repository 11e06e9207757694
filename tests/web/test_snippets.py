"""The lines with which a reader uses the kernel of a finding: what they say, and that they run."""

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.findings.formats import findings
from gpu_engine.matrix_io.write import write_matrix_market
from gpu_engine.records import Measurement
from tests.battery import BATTERY
from tests.samples.formats import study_of, timed, untimed
from tests.web.conftest import Lab, get
from web.snippets import archive_of, snippet


def finding_of(*measurements: Measurement) -> Finding:
    (found,) = findings(StudyData(list(measurements)))
    return found


def test_the_lines_of_a_cpu_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = BATTERY["wide"]()
    write_matrix_market(tmp_path / "matrix.mtx", matrix)
    monkeypatch.chdir(tmp_path)
    lines = snippet(finding_of(timed("csr/scalar", 2e-3), timed("split/tile", 1e-3), timed("ell/thread", 3e-3)))
    assert len(lines.splitlines()) == 9
    found: dict[str, Any] = {}
    exec(lines, found)
    assert found["A"].kernel == "split/tile"
    np.testing.assert_allclose(found["y"], matrix.to_scipy() @ np.ones(matrix.n_cols))


def test_those_of_a_gpu_take_a_matrix_there() -> None:
    """A kernel that a CPU does not have, behind a library and a kernel in a new order, which are none of ours."""
    lines = snippet(
        finding_of(
            timed("cusparse/csr_alg1", 1e-3, device="cuda:0"),
            timed("csr/vector16", 2e-3, device="cuda:0"),
            timed("csr/vector", 3e-3, device="cuda:0"),
        )
    )
    compile(lines, "snippet", "exec")
    assert lines.startswith("import cupy as cp\n")
    assert "matrix = cupyx.scipy.sparse.csr_matrix(matrix)" in lines
    assert max(map(len, lines.splitlines())) <= 60
    assert "cp.ones(" in lines
    assert "# 2.00 ms per SpMV on cuda:0, warm\n# without the time of the call" in lines.replace("\u202f", " ")
    assert 'sparsight.operator(matrix, kernel="csr/vector16")' in lines


@pytest.mark.parametrize(
    "measurements",
    [(untimed("csr/vector", "failed", "wrong"),), (timed("csr/vector+rcm", 1e-3), timed("csr/scalar+rcm", 2e-3))],
)
def test_without_a_time_of_a_kernel_as_it_is_there_are_none(measurements: tuple[Measurement, ...]) -> None:
    assert snippet(finding_of(*measurements)) == ""


def test_only_what_runs_on_a_gpu_can_be_taken_away() -> None:
    assert archive_of(finding_of(timed("csr/scalar", 2e-3), timed("split/tile", 1e-3))) == ""
    on_gpu = (timed(kernel, median, device="cuda:0") for kernel, median in (("split/tile", 1e-3), ("ell/thread", 2e-3)))
    assert archive_of(finding_of(*on_gpu)) == "split/tile"
    assert archive_of(finding_of(untimed("csr/vector", "failed", "wrong"))) == ""


def test_the_page_of_a_job_and_that_of_the_study_have_them(client: TestClient, lab: Lab) -> None:
    lines = snippet(finding_of(*(m for m in study_of("m1") if m.cache == "warm")))
    # The page of the job has them in the table that it fetches when it is opened.
    tables = re.findall(r'data-table="([^"]+-m1-CPU-warm[^"]*)"', get(client, "/jobs/j1").text)
    assert len(tables) == 1
    for page in (html.unescape(tables[0]), "/formats?job=j1&matrix=m1"):
        text = get(client, page).text
        assert "<summary>Use this kernel</summary>" in text
        assert f">{html.escape(lines).rstrip()}" in text.replace("&#34;", "&quot;")
