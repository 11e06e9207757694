"""Tests of the check of words: which files it reads, and what it reports."""

import subprocess
from pathlib import Path

import pytest

from tools import words


def test_deleted_files_are_skipped_until_they_are_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("kept.md", "deleted.md"):
        (tmp_path / name).write_text("A grey line.\n", encoding="utf-8")
    for command in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "deleted.md").unlink()
    monkeypatch.setattr(words, "ROOT", tmp_path)
    assert [(each.file, each.rule) for each in words.violations()] == [("kept.md", "British spelling in md")]
