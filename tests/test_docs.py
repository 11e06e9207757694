"""The documents name everything that there is, and nothing else: each list here is derived from the code."""

import dataclasses
import re
from pathlib import Path

import pytest

from gpu_engine.errors import SparsightError
from gpu_engine.formats import FORMATS
from gpu_engine.records import Measurement
from gpu_engine.studies import STUDIES
from gpu_engine.studies.base import Study
from server.errors import status_of
from server.main import create_app
from server.models import JobState, MatrixState
from server.results import CSV_COLUMNS
from server.settings import Settings
from sparsight.cli import app
from sparsight.exits import Exit
from web.selection import NAMES

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(document: str, heading: str) -> str:
    """What stands under a heading, up to the next of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    match = re.search(rf"^{re.escape(heading)}$(.*?)(?=^#{{1,{level}}} |\Z)", text(document), re.M | re.S)
    assert match, f"{document} has no heading {heading}"
    return match[1]


def first_cells(part: str) -> list[str]:
    """The first cell of every table row, without code marks and heads."""
    rows = re.findall(r"^\| (.+?) \|", part, re.M)
    return [cell.strip("`") for cell in rows if not set(cell) <= set("-: ")]


def codes(kind: type[SparsightError]) -> dict[str, int]:
    """Status by code of the tree below `kind`, as far as a request can be answered with it."""
    found = {kind.code: status_of(kind("no"))}
    for child in kind.__subclasses__():
        found |= codes(child)
    return found


def test_every_setting_has_its_row_and_every_row_its_setting() -> None:
    rows = first_cells(section("README.md", "### Settings"))[1:]
    assert rows == [f"SPARSIGHT_{name.upper()}" for name in Settings.model_fields]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_variable_that_a_document_names_is_a_setting(document: Path) -> None:
    known = {f"SPARSIGHT_{name.upper()}" for name in Settings.model_fields}
    assert set(re.findall(r"SPARSIGHT_[A-Z_]+", document.read_text(encoding="utf-8"))) - known == set()


def test_every_format_has_its_heading_and_each_kernel_its_row() -> None:
    headings = re.findall(r"^## (.+)$", text("docs/formats.md"), re.M)
    assert sorted(headings) == sorted([*(f.name for f in FORMATS), "Competitors"])
    for f in FORMATS:
        kernels = first_cells(section("docs/formats.md", f"## {f.name}"))[1:]
        assert kernels == [f"{f.name}/{kernel.variant}" for kernel in f.kernels]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_study_has_its_heading_and_each_parameter_its_row(study: Study) -> None:
    parameters = first_cells(section("docs/api.md", f"### {study.name}"))[1:]
    assert parameters == [field.name for field in dataclasses.fields(study.Params)]


def test_every_state_has_its_row() -> None:
    rows = first_cells(section("docs/api.md", "## States"))
    jobs, matrices = rows.index("state of a job"), rows.index("state of a matrix")
    assert rows[jobs + 1 : matrices] == [str(state) for state in JobState]
    assert rows[matrices + 1 :] == [str(state) for state in MatrixState]


def test_every_error_that_a_call_can_answer_has_its_row() -> None:
    part = section("docs/api.md", "## Problems")
    documented = {code: int(status) for code, status in re.findall(r"^\| `(\w+)` \| (\d+) \|", part, re.M)}
    expected = {code: status for code, status in codes(SparsightError).items() if status != 500 or code == "internal"}
    assert {code: status for code, status in documented.items() if code in codes(SparsightError)} == expected
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "server").rglob("*.py"))
    others = documented.keys() - expected.keys()
    assert [code for code in others if f'problem({documented[code]}, "{code}"' not in source] == []
    assert set(re.findall(r'problem\(\d+, "(\w+)"', source)) == others | {"internal", "unavailable", "too_large"}


def test_every_column_has_its_row_in_the_words_of_the_record() -> None:
    told = {field.name: field.metadata["description"].replace("|", "\\|") for field in dataclasses.fields(Measurement)}
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", section("docs/api.md", "## Results"), re.M)
    assert rows == [(name, told[name]) for name in CSV_COLUMNS]


def test_every_parameter_of_figures_has_its_row() -> None:
    cells = " ".join(re.findall(r"^\| (`.+?) \|", section("docs/api.md", "## Figures"), re.M))
    assert tuple(re.findall(r"`(\w+)`", cells)) == NAMES


def test_every_call_has_its_row(tmp_path: Path) -> None:
    paths = create_app(Settings(home=tmp_path)).openapi()["paths"]
    calls = {
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, methods in paths.items()
        if path.startswith("/api/v1/")
        for method in methods
    }
    rows = first_cells(section("docs/api.md", "## Calls"))[1:]
    assert len(rows) == len(set(rows))
    assert set(rows) == calls


def test_every_command_and_exit_code_has_its_row() -> None:
    rows = first_cells(section("README.md", "### Commands"))
    codes_begin = rows.index("exit code")
    commands = [str(command.callback.__name__) for command in app.registered_commands if command.callback]
    for group in app.registered_groups:
        inner = group.typer_instance.registered_commands if group.typer_instance else []
        commands += [f"{group.name} {command.callback.__name__}" for command in inner if command.callback]
    assert rows[1:codes_begin] == [f"sparsight {name}" for name in commands]
    assert rows[codes_begin + 1 :] == [str(int(code)) for code in Exit]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_file_leads_to_one(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_file_that_the_architecture_names_is_there() -> None:
    tree = section("ARCHITECTURE.md", "# Architecture").split("```")[3]
    folder, missing = ROOT, []
    for line in tree.strip().splitlines():
        name, indent = line.split()[0], len(line) - len(line.lstrip())
        if indent > 2:
            continue
        folder = ROOT if indent == 0 else folder
        if not (folder / name).exists():
            missing.append(name)
        if indent == 0:
            folder = ROOT / name
    assert missing == []


def test_the_ci_runs_what_the_readme_says() -> None:
    develop = section("README.md", "## Develop")
    for command in ("make test", "make check"):
        assert command in develop
        assert re.search(rf"^step {command}$", text(".ci/run"), re.M)
