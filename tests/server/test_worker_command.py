"""The command that starts a worker works as it is printed, in a shell without the settings of the server."""

import subprocess
from pathlib import Path

import pytest

from server.roles import Caller, Role
from server.settings import Settings
from server.worker_command import COMMAND, start_text, worker_command


def of_shell(command: str, variable: str) -> str:
    """What a new shell sets the variable to when it runs the command."""
    shown = command.replace(COMMAND, f"printenv {variable}")
    return subprocess.run(["sh", "-c", shown], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}).stdout


def test_defaults_need_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARSIGHT_HOME", raising=False)
    assert worker_command(Settings()) == COMMAND


@pytest.mark.parametrize("name", ["data", "a b", "it's $HOME"])
def test_the_data_directory_is_named(tmp_path: Path, name: str) -> None:
    command = worker_command(Settings(home=tmp_path / name))
    assert of_shell(command, "SPARSIGHT_HOME") == f"{tmp_path / name}\n"


def test_a_password_is_never_printed(tmp_path: Path) -> None:
    command = worker_command(Settings(home=tmp_path, database_url="postgresql://lab:secret@db/lab"))
    assert "secret" not in command
    assert of_shell(command, "SPARSIGHT_DATABASE_URL") == ""


def test_only_administrators_see_the_folder(tmp_path: Path) -> None:
    texts = {role: start_text(Settings(home=tmp_path), Caller("a", role)) for role in Role}
    assert [role for role, text in texts.items() if str(tmp_path) in text] == [Role.ADMIN]
    assert all(COMMAND in text for text in texts.values())
