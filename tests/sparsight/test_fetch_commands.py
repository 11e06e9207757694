"""Matrices by name in a terminal, against the application itself and a collection that is none."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from gpu_engine.errors import ConflictError, InputError, NotFoundError, UnavailableError
from server.collection import download as download_module
from sparsight.collection_file import hash_of, read_collection
from tests.collection_site import LIST, Site, packed, serve_from
from tests.sparsight.test_commands import documents_of, run

pytestmark = pytest.mark.usefixtures("site", "connected")


@pytest.fixture
def site(app: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """What the server fetches from; the working folder is empty."""
    site = Site()
    site.files["/MM/Toy/two.tar.gz"] = packed("two")
    site.files["/MM/Toy/wide.tar.gz"] = packed("wide")
    serve_from(app, site)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(download_module, "RETRY_S", 0.0)
    return site


def test_a_matrix_is_fetched_by_its_name_and_found_the_second_time(site: Site) -> None:
    ended = run("matrix", "fetch", "HB/bcsstk16")
    assert ended.exit_code == 0, ended.output
    (matrix_id,) = ended.stdout.split()
    assert ended.stderr.splitlines()[-1] == "HB/bcsstk16: 2 × 2, 3 nonzeros."
    matrix = documents_of(run("matrix", "fetch", "HB/bcsstk16", "--json"))
    assert (matrix["id"], matrix["source"]["name"]) == (matrix_id, "HB/bcsstk16")
    assert site.paths == ["/MM/HB/bcsstk16.tar.gz"]


def test_what_a_condition_finds_is_shown_and_fetched_only_when_that_is_said(site: Site) -> None:
    shown = run("matrix", "fetch", "--where", "group == 'Toy'")
    assert shown.exit_code == 0, shown.output
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["name", "Toy/two", "Toy/wide"]
    assert (
        "2 matches, about 48.0\u202fB. Use --yes to fetch all, or --limit N for the N smallest matches." in shown.stderr
    )
    assert site.paths == ["/files/ssstats.csv"]
    listed = documents_of(run("matrix", "fetch", "--where", "group == 'Toy'", "--json"))
    assert [entry["kind"] for entry in listed] == ["toy problem", "toy graph"]
    first = documents_of(run("matrix", "fetch", "--where", "group == 'Toy'", "--limit", "1", "--json"))
    assert [matrix["name"] for matrix in [first]] == ["two"]
    both = run("matrix", "fetch", "--where", "group == 'Toy'", "--yes")
    assert (both.exit_code, len(both.stdout.split())) == (0, 2)
    assert site.paths.count("/MM/Toy/two.tar.gz") == 1
    # A single one needs no more words.
    alone = documents_of(run("matrix", "fetch", "--where", "kind == 'toy graph'", "--json"))
    assert alone["name"] == "wide"


def test_one_of_several_that_fails_is_named_and_the_others_come(site: Site) -> None:
    del site.files["/MM/Toy/two.tar.gz"]
    ended = run("matrix", "fetch", "Toy/two", "Toy/wide", "Toy/none")
    assert ended.exit_code == 4
    assert len(ended.stdout.split()) == 1
    said = ended.stderr
    assert "Toy/two: sparse.tamu.edu has no such file (404); upload the file instead." in said
    assert "Toy/none: " in said


def test_without_the_list_the_matrices_of_the_wheel_are_looked_through(site: Site) -> None:
    site.cuts = [0] * 2
    ended = run("matrix", "fetch", "--where", "spd and nnz > 2e5")
    assert ended.exit_code == 0, ended.output
    assert [line.split()[0] for line in ended.stdout.splitlines()[1:]] == [
        "HB/bcsstk25",
        "UTEP/Dubcova1",
        "HB/bcsstk16",
    ]
    assert "Searching only the 69 matrices that the server already knows. " in ended.stderr
    assert "sparse.tamu.edu" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (["fetch"], InputError, "Give exactly one of: matrix names, --where CONDITION, --collection FILE."),
        (["fetch", "HB/a", "--where", "spd"], InputError, "exactly one of"),
        (["fetch", "bcsstk16"], InputError, "Did you mean HB/bcsstk16"),
        (["fetch", "HB/bcstk16"], NotFoundError, "Did you mean HB/bcsstk16"),
        (["fetch", "--where", "nnz.real"], InputError, "'nnz.real' is not"),
        (["fetch", "--where", "nnz < 0"], InputError, "No known matrix in the collection matches"),
        (["fetch", "--collection", "gone.json"], InputError, "Cannot read 'gone.json': No such file"),
        (["collection", "save", "../x", "--where", "spd"], InputError, "Invalid name '../x'"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], kind: type[Exception], words: str) -> None:
    ended = run("matrix", *arguments)
    assert isinstance(ended.exception, kind), ended.output
    assert words in str(ended.exception)


def test_a_collection_is_frozen_by_its_hash(site: Site) -> None:
    saved = documents_of(run("matrix", "collection", "save", "toys", "--where", "group == 'Toy'", "--json"))
    names = ("Toy/two", "Toy/wide")
    assert saved == {"file": "toys.json", "count": 2, "sha256": hash_of(names)}
    assert hash_of(names) == "257d46f27b122f40ab38852d76d9f6f4716cf582390ba0ac3016a00ad6622e93"
    collection = read_collection(Path("toys.json"))
    assert (collection.name, collection.where, collection.matrices) == ("toys", "group == 'Toy'", names)
    again = run("matrix", "collection", "save", "toys", "--where", "spd")
    assert "'toys.json' already exists" in str(again.exception)
    # What the collection has come to hold meanwhile changes nothing of the list.
    site.files["/files/ssstats.csv"] = LIST + b"Toy,new,2,2,3,1,0,0,0,1,1,toy problem,3\n"
    fetched = documents_of(run("matrix", "fetch", "--collection", "toys.json", "--json"))
    assert [matrix["source"]["name"] for matrix in fetched] == list(names)
    document: dict[str, Any] = json.loads(Path("toys.json").read_text())
    Path("other.json").write_text(json.dumps(document | {"matrices": [*names, "HB/bcsstk16"]}))
    changed = run("matrix", "fetch", "--collection", "other.json")
    assert "their sha256 does not match" in str(changed.exception)
    assert "/MM/HB/bcsstk16.tar.gz" not in site.paths
    for text in ("", "[]", "{}", '{"name": "a"}', "[" * 10_000):
        Path("junk.json").write_text(text)
        assert isinstance(run("matrix", "fetch", "--collection", "junk.json").exception, InputError)


def test_the_list_is_fetched_and_its_checksum_said(site: Site) -> None:
    known = documents_of(run("matrix", "index", "--json"))
    assert (known["is_complete"], known["count"]) == (True, 71)
    assert known["sha256"] in run("matrix", "index").stdout
    assert site.paths == ["/files/ssstats.csv"]


def test_offline_is_one_sentence(site: Site) -> None:
    site.cuts = [0] * 9
    words = "sparse.tamu.edu", "Connection reset by peer", "upload the file instead."
    for command in (["fetch", "HB/bcsstk16"], ["index"]):
        ended = run("matrix", *command)
        assert isinstance(ended.exception, UnavailableError)
        assert all(word in str(ended.exception) for word in words)


def test_a_switched_off_server_says_so(app: FastAPI, site: Site) -> None:
    app.state.fetcher._settings = app.state.settings
    ended = run("matrix", "fetch", "HB/bcsstk16")
    assert isinstance(ended.exception, ConflictError)
    assert str(ended.exception).endswith("upload the file instead.")
