"""The help of every command, word by word."""

from pathlib import Path
from typing import Any

import pytest
import typer

from sparsight.cli import app
from tests import golden

GOLDEN = Path(__file__).parent / "golden"


def commands(command: Any, name: str) -> dict[str, Any]:
    """The command and those within it, by their whole names; without hidden ones."""
    # Typer brings a Click of its own, of which no group is an instance of click.Group.
    inner = getattr(command, "commands", {})
    found = {name: command}
    for own, each in inner.items():
        if not each.hidden:
            found |= commands(each, f"{name} {own}")
    return found


def words(command: Any) -> str:
    """What the help says: the sentence of the command, and a line for each argument and option."""
    lines = [command.help or ""]
    for each in command.params:
        names = " ".join((*each.opts, *each.secondary_opts))
        lines.append(f"{names}: {getattr(each, 'help', None) or ''}".strip())
    return "\n".join(lines) + "\n"


COMMANDS = commands(typer.main.get_command(app), "sparsight")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_says_what_its_golden_file_says(name: str) -> None:
    golden.check(GOLDEN / f"{name.replace(' ', '-')}.txt", words(COMMANDS[name]))


def test_no_golden_file_is_left_of_a_command_that_is_gone() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {name.replace(" ", "-") for name in COMMANDS}
