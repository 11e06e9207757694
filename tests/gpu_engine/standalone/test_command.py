from pathlib import Path

import pytest

from gpu_engine.__main__ import main
from gpu_engine.standalone import archive


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["gpu_engine", "kernel", *arguments])
    return main()


def test_a_kernel_is_written_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "split/tile") == 0
    assert run(monkeypatch, "split/tile", "--out", "taken.zip") == 0
    assert [(tmp_path / name).read_bytes() for name in ("split-tile.zip", "taken.zip")] == [archive("split/tile")] * 2


def test_an_unknown_kernel_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "csr/none", "--out", str(tmp_path / "none.zip")) == 2
    assert "There is no kernel 'csr/none'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
