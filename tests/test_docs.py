"""The documents name everything that there is, and nothing else: each list here is derived from the code."""

import re
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml

from gpu_engine.errors import SparsightError
from gpu_engine.formats import FORMATS
from gpu_engine.records import STATES, Measurement
from gpu_engine.studies import STUDIES
from gpu_engine.studies.base import Study
from server.errors import status_of
from server.main import create_app
from server.models import JobState, MatrixState
from server.result_documents import CaseVerdict, Finding
from server.results import NOT_IN_CSV
from server.settings import Settings
from sparsight.cli import app
from sparsight.exit_codes import Exit
from web.selection import DATA_NAMES
from web.studies import page_parameters

ROOT = Path(__file__).parent.parent
PACKAGES = ("gpu_engine", "server", "web", "sparsight")
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
    rows = first_cells(section("docs/settings.md", "## Variables"))[1:]
    fields_of_settings = [f"SPARSIGHT_{name.upper()}" for name in Settings.model_fields]
    assert rows == fields_of_settings, "docs/settings.md, Variables: a row for each field of Settings, in their order"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_variable_that_a_document_names_is_a_setting(document: Path) -> None:
    known = {f"SPARSIGHT_{name.upper()}" for name in Settings.model_fields}
    assert set(re.findall(r"SPARSIGHT_[A-Z_]+", document.read_text(encoding="utf-8"))) - known == set()


def test_every_format_has_its_heading_and_each_kernel_its_row() -> None:
    headings = re.findall(r"^## (.+)$", text("docs/formats.md"), re.M)
    names = {f.name for f in FORMATS}
    assert sorted(headings) == sorted([*names, "Competitors"])
    for name in names:
        kernels = first_cells(section("docs/formats.md", f"## {name}"))[1:]
        assert kernels == [f.name_of(kernel) for f in FORMATS if f.name == name for kernel in f.kernels]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_study_has_its_heading_and_each_parameter_its_row(study: Study) -> None:
    parameters = first_cells(section("docs/api.md", f"### {study.name}"))[1:]
    assert parameters == [field.name for field in fields(study.Params)]


def test_every_state_has_its_row() -> None:
    rows = first_cells(section("docs/api.md", "## States"))
    jobs, matrices, measurements = (rows.index(f"state of a {what}") for what in ("job", "matrix", "measurement"))
    assert rows[jobs + 1 : matrices] == [str(state) for state in JobState]
    assert rows[matrices + 1 : measurements] == [str(state) for state in MatrixState]
    assert rows[measurements + 1 :] == list(STATES)


def test_every_field_of_a_verdict_has_its_row() -> None:
    rows = re.findall(r"^\| (`.+?) \|", section("docs/api.md", "## Verdicts"), re.M)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted([*get_type_hints(Finding), *get_type_hints(CaseVerdict)])


def test_every_error_that_a_call_can_answer_has_its_row() -> None:
    part = section("docs/api.md", "## Problems")
    documented = {code: int(status) for code, status in re.findall(r"^\| `(\w+)` \| (\d+) \|", part, re.M)}
    expected = {code: status for code, status in codes(SparsightError).items() if status != 500 or code == "internal"}
    assert {code: status for code, status in documented.items() if code in codes(SparsightError)} == expected
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "server").rglob("*.py"))
    others = documented.keys() - expected.keys()
    assert [code for code in others if f'problem({documented[code]}, "{code}"' not in source] == []
    assert set(re.findall(r'problem\(\d+, "(\w+)"', source)) == others | {"internal", "unavailable", "too_large"}


def test_every_field_of_a_measurement_has_its_row_in_the_words_of_the_record() -> None:
    part = section("docs/api.md", "## Results")
    kinds: tuple[Any, ...] = (Measurement, *(study.details for study in STUDIES))
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", part, re.M)
    described = [(f.name, f.metadata["description"].replace("|", "\\|")) for kind in kinds for f in fields(kind)]
    wanted = sorted(row for row in described if row[0] not in NOT_IN_CSV)
    assert sorted(rows) == wanted, "docs/api.md, Results: a table `Details of NAME:` has a row for each field"
    assert re.findall(r"^Details of `(\w+)`:$", part, re.M) == [study.name for study in STUDIES]


def test_every_parameter_of_figures_has_its_row() -> None:
    cells = " ".join(re.findall(r"^\| (`.+?) \|", section("docs/api.md", "## Figures"), re.M))
    named = tuple(re.findall(r"`(\w+)`", cells))
    assert named == (*DATA_NAMES, *page_parameters()), "docs/api.md, Figures: a row for each parameter of a page"


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


def inner_commands(app: Any) -> list[str]:
    """The commands of groups and of groups within them, with the names of these before them."""
    found = []
    for group in app.registered_groups:
        visible = [command for command in group.typer_instance.registered_commands if not command.hidden]
        own = [command.name or str(command.callback.__name__) for command in visible]
        found += [f"{group.name} {name}" for name in [*own, *inner_commands(group.typer_instance)]]
    return found


def test_every_command_and_exit_code_has_its_row() -> None:
    rows = first_cells(section("docs/cli.md", "## Commands"))
    codes_begin = rows.index("exit code")
    commands = [str(command.callback.__name__) for command in app.registered_commands if command.callback]
    commands += inner_commands(app)
    assert rows[1:codes_begin] == [f"sparsight {name}" for name in commands]
    assert rows[codes_begin + 1 :] == [str(int(code)) for code in Exit]


def test_every_fault_names_the_tests_that_inject_it() -> None:
    rows = re.findall(r"^\| .+ \| (.+) \|$", text("docs/faults.md"), re.M)
    named = [re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", cell) for cell in rows if cell not in ("test", "---")]
    assert all(named)
    there = {(file, name) for row in named for file, name in row}
    assert {(file, name) for file, name in there if f"def {name}(" not in text(file)} == set()
    files = ("tests/server/test_faults.py", "tests/server/jobs/test_faults.py")
    injected = {(file, name) for file in files for name in re.findall(r"^def (test_\w+)", text(file), re.M)}
    assert injected <= there


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_file_leads_to_one(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def tree() -> list[str]:
    """The paths of the architecture's tree: at the margin folders of the repository, below them what they hold."""
    paths: list[str] = []
    top = ""
    for line in section("ARCHITECTURE.md", "# Architecture").split("```")[3].strip().splitlines():
        name = line.split()[0]
        top = top if line.startswith(" ") else name
        paths.append(name if name == top else f"{top}{name}")
    return paths


def test_everything_that_the_architecture_names_is_there() -> None:
    assert [path for path in tree() if not (ROOT / path).exists()] == []
    assert len(tree()) == len(set(tree()))


def test_every_package_is_in_the_architecture() -> None:
    tracked = {path.parent for path in ROOT.glob("*/*.py") if not path.parent.name.startswith(".")}
    inner = {path.parent for name in PACKAGES for path in (ROOT / name).glob("*/__init__.py")}
    assert {f"{path.relative_to(ROOT).as_posix()}/" for path in tracked | inner} - set(tree()) == set()


def test_the_architecture_is_short_and_facts_have_their_own_dated_list() -> None:
    assert len(text("ARCHITECTURE.md").splitlines()) <= 110
    head, *dates = first_cells(text("docs/facts.md"))
    assert head == "date"
    assert dates == sorted(dates, key=date.fromisoformat)


def test_the_glossary_has_every_word_once() -> None:
    cells = first_cells(text("GLOSSARY.md"))
    words = [word.strip() for cell in cells if cell != "word" for word in cell.split(",")]
    assert len(words) == len(set(words))


def test_the_ci_runs_what_the_readme_says() -> None:
    develop = section("docs/developing.md", "## Commands")
    targets = re.search(r"^step make --jobs=2 --output-sync (.+)$", text(".ci/run"), re.M)
    assert targets
    assert targets[1].split() == ["check", "test"]
    assert all(f"make {target}" in develop for target in (*targets[1].split(), "test-all"))


def test_a_commit_is_checked_by_the_programs_of_make_check() -> None:
    recipe = re.search(r"^check: install\n((?:\t.+\n)+)", text("Makefile"), re.M)
    assert recipe
    hooks = [hook for repo in yaml.safe_load(text(".pre-commit-config.yaml"))["repos"] for hook in repo["hooks"]]
    assert len(hooks) == len(recipe[1].splitlines())
    assert [hook["entry"] for hook in hooks if hook["entry"] not in recipe[1]] == []
