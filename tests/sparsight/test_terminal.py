"""Tables and sentences in terminals of several widths, by value; a real pty included."""

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest
from rich.console import Console

from gpu_engine.errors import InputError
from sparsight.addresses import Address
from sparsight.terminal import (
    Column,
    connect,
    out,
    print_hidden_columns,
    print_pairs,
    print_status,
    print_table,
    shorten,
)

ROWS = [("4e1ae543", "stencil points=27 nx=64 ny=64 nz=64", 1_000_000), ("14a3731b", "[b]grid[/]", 5)]
COLUMNS: tuple[Column[tuple[str, str, int]], ...] = (
    Column("id", lambda row: row[0]),
    Column("name", lambda row: row[1], is_name=True),
    Column("nnz", lambda row: row[2], right=True),
    Column("none", lambda _: None),
)


def terminal(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)


def shown(console: Console) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("width", "lines", "left_out"),
    [
        (
            80,
            [
                "id        name                                     nnz  none",
                "4e1ae543  stencil points=27 nx=64 ny=64 nz=64  1000000",
                "14a3731b  [b]grid[/]                                 5",
            ],
            [],
        ),
        (
            50,
            [
                "id        name                     nnz  none",
                "4e1ae543  stencil points=27 …  1000000",
                "14a3731b  [b]grid[/]                 5",
            ],
            [],
        ),
        (
            40,
            [
                "id        name                     nnz",
                "4e1ae543  stencil points=27 …  1000000",
                "14a3731b  [b]grid[/]                 5",
            ],
            ["none"],
        ),
        (20, ["id", "4e1ae543", "14a3731b"], ["name", "nnz", "none"]),
        (5, ["id", "4e1ae543", "14a3731b"], ["name", "nnz", "none"]),
    ],
)
def test_columns_go_from_the_right_and_names_give_way_first(width: int, lines: list[str], left_out: list[str]) -> None:
    console = terminal(width)
    assert print_table(console, COLUMNS, ROWS) == left_out
    assert shown(console) == lines


def test_wide_characters_take_two_places() -> None:
    console = terminal(80)
    print_table(console, COLUMNS[1:3], [("", "行列", 1), ("", "ab", 22)])
    assert shown(console) == ["name  nnz", "行列    1", "ab     22"]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("short", "short"),
        ("exactly twenty-two ok.", "exactly twenty-two ok."),
        ("stencil points=27 nx=64 ny=64", "stencil points=27 …"),
        ("one_word_that_is_longer_than_the_limit", "one_word_that_is_longer_than_the_limit"),
        ("one_word_that_is_longer_than_the_limit and", "one_word_that_is_longer_than_the_limit …"),
    ],
)
def test_a_name_is_shortened_to_whole_words(name: str, short: str) -> None:
    assert shorten(name) == short


def test_a_long_sentence_breaks_between_words_on_a_terminal_only() -> None:
    sentence = "See http://127.0.0.1:18080/jobs/5f0c6a1e2b4d4f0e8a9b7c6d5e4f3a2b, where it is."
    console = terminal(30)
    print_status(sentence, console)
    assert shown(console) == ["See", "http://127.0.0.1:18080/jobs/5f0c6a1e2b4d4f0e8a9b7c6d5e4f3a2b,", "where it is."]
    piped = Console(file=io.StringIO(), width=30)
    print_status(sentence, piped)
    assert shown(piped) == [sentence]


def test_a_value_that_is_too_long_stands_below_its_name() -> None:
    console = terminal(20)
    print_pairs(console, {"id": "4e1a", "fingerprint": "fcde2b2edba5"})
    assert shown(console) == ["id           4e1a", "fingerprint", "fcde2b2edba5"]


def test_what_was_left_out_is_said_once_with_the_way_to_see_it(capsys: pytest.CaptureFixture[str]) -> None:
    print_hidden_columns(["error", "memory", "error"], "--json")
    print_hidden_columns([], "--json")
    assert capsys.readouterr().err == ("Columns hidden (terminal too narrow): error, memory. Widen it or use --json.\n")


def test_a_pipe_has_every_column_unless_a_width_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert out().width > 10_000
    monkeypatch.setenv("COLUMNS", "72")
    assert out().width == 72
    monkeypatch.setenv("COLUMNS", "wide")
    assert out().width > 10_000


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_pty_has_the_width_that_it_says(width: int) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    program = "from sparsight.terminal import *; print_table(out(), [Column('x' * 30, str)] * 5, [1])"
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    subprocess.run([sys.executable, "-P", "-c", program], stdout=slave, check=True, env={**kept, "TERM": "xterm"})
    os.close(slave)
    row = os.read(master, 10_000).decode().splitlines()[1]
    os.close(master)
    assert row.split() == ["1"] * {80: 2, 100: 3, 160: 5}[width]


def test_the_server_is_that_of_the_option_else_of_the_url_else_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSIGHT_HOST", "::1")
    monkeypatch.setenv("SPARSIGHT_PORT", "18080")
    assert connect(None).server == "http://[::1]:18080"
    assert connect("127.0.0.1:7/").server == "http://127.0.0.1:7"
    there = Address("5f0c", "http://there:1")
    assert connect(None, there).server == connect("there:1", there).server == "http://there:1"
    with pytest.raises(InputError, match="here and http://there:1 are different servers"):
        connect("here", there)
    with pytest.raises(InputError, match=r"Invalid server address 'http://\[::1'"):
        connect("http://[::1")
