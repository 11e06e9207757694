"""`sparsight backup` and `restore`: what they say, and where they end."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from server.db import Database
from server.settings import Settings
from sparsight.cli import app
from tests.battery import BATTERY
from tests.conftest import AddMatrix


@pytest.fixture(autouse=True)
def same_mask() -> Iterator[None]:
    """A command closes what it makes to others, for as long as its process lives."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_home_goes_into_a_file_and_out_of_it(
    settings: Settings, database: Database, add_matrix: AddMatrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_matrix(BATTERY["identity"](), id="a")
    file, held = tmp_path / "b.tar", "0 jobs with 0 measurements, 1 matrices"
    monkeypatch.setenv("SPARSIGHT_HOME", str(settings.home))
    written = CliRunner().invoke(app, ["backup", str(file)])
    assert (written.exit_code, written.stdout) == (0, "")
    assert written.stderr.startswith(f"Wrote {file}: {held}, ")
    monkeypatch.setenv("SPARSIGHT_HOME", str(tmp_path / "new"))
    restored = CliRunner().invoke(app, ["restore", str(file)])
    assert (restored.exit_code, restored.stderr) == (0, f"Restored {held}. You can now start the service.\n")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    again = CliRunner().invoke(app, ["restore", str(file)])
    assert "The target is not empty" in str(again.exception)
