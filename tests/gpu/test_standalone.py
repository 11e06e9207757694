"""The archives of all kernels: each one's own test, in a process that sees nothing of the engine."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gpu_engine.formats import kernel_names
from gpu_engine.standalone import archive, folder_of

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.mark.parametrize("name", kernel_names("cuda"))
def test_products_of_an_archive_are_those_of_scipy(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(archive(name))) as zipped:
        zipped.extractall(tmp_path)
    folder = tmp_path / folder_of(name)
    run = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            "import runpy, sys; sys.path[:0] = ['']; runpy.run_path('test_kernel.py', run_name='__main__')",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
