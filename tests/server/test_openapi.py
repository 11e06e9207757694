"""The OpenAPI description: complete, with an example of everything, and true of what is answered."""

import csv
import dataclasses
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import jsonschema_rs
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import TypeAdapter

from gpu_engine.findings.data import StudyData
from gpu_engine.records import DeviceInfo, Measurement, Trace
from gpu_engine.studies.results import results_document
from server import devices, documents
from server.db import Database
from server.examples import EXAMPLES, MEASUREMENT
from server.main import create_app
from server.openapi import PROBLEM_TYPE
from server.responses import flatten, to_csv
from server.settings import Settings
from server.timestamps import Time, time_of
from tests.battery import BATTERY
from tests.conftest import AddMatrix

CPU = DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25)
VERBS = {
    "list",
    "fetch",
    "get",
    "create",
    "preview",
    "upload",
    "generate",
    "delete",
    "annotate",
    "cancel",
    "stop",
    "settle",
    "retry",
    "stream",
    "check",
}

LISTS = {
    "matrices": documents.Matrix,
    "sets": documents.MatrixSet,
    "jobs": documents.Job,
    "devices": documents.Device,
    "studies": documents.Study,
    "generators": documents.Generator,
    "formats": documents.StorageFormat,
    "figures": documents.FigureEntry,
}


def operations(app: FastAPI) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for methods in app.openapi()["paths"].values():
        found |= {operation["operationId"]: operation for operation in methods.values()}
    return found


def test_every_call_is_named_verb_noun_and_described(app: FastAPI) -> None:
    tags = {tag["name"] for tag in app.openapi()["tags"]}
    for name, operation in operations(app).items():
        assert name.partition("_")[0] in VERBS, name
        assert set(operation["tags"]) <= tags
        assert operation["summary"]
        assert operation["description"]


def test_every_error_is_a_problem_with_its_example(app: FastAPI) -> None:
    for name, operation in operations(app).items():
        for status, answer in operation["responses"].items():
            if status.startswith(("4", "5")):
                content = answer["content"][PROBLEM_TYPE]
                assert content["example"]["status"] == int(status), (name, status)
                assert content["schema"]["$ref"].endswith("/Problem")


def test_every_document_that_is_answered_has_an_example(app: FastAPI) -> None:
    without = [
        (name, status)
        for name, operation in operations(app).items()
        for status, answer in operation["responses"].items()
        for content in [answer.get("content", {}).get("application/json")]
        if status.startswith("2") and content is not None and not content.get("example")
    ]
    assert without == []


def times(schema: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every property of a schema that is called after a moment, wherever it stands."""
    if isinstance(schema, dict):
        for key, value in schema.get("properties", {}).items():
            if key.endswith("_at"):
                yield f"{name}.{key}", value
        for key, value in schema.items():
            yield from times(value, key)


def test_every_time_is_of_one_form(app: FastAPI) -> None:
    found = dict(times(app.openapi()))
    assert {"Matrix.created_at", "Job.created_at", "Job.started_at", "Job.finished_at", "Device.seen_at"} <= set(found)
    form = {"type": "string", "format": "date-time"}
    for name, value in found.items():
        (kind,) = [kind for kind in value.get("anyOf", [value]) if kind != {"type": "null"}]
        assert form.items() <= kind.items(), name


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (1795226400.0625, "2026-11-21T02:00:00.062Z"),
        ("2026-11-21T03:00:00+01:00", "2026-11-21T02:00:00.000Z"),
    ],
)
def test_a_time_is_utc_in_milliseconds(moment: float | str, said: str) -> None:
    assert time_of(moment) == said
    TypeAdapter(Time).validate_python(said)


def test_every_field_of_a_measurement_is_described(app: FastAPI) -> None:
    schemas = app.openapi()["components"]["schemas"]
    fields = schemas["Measurement"]["properties"]
    assert list(fields) == [field.name for field in dataclasses.fields(Measurement)]
    assert [name for name, field in fields.items() if not field.get("description")] == []
    units = {"s": "seconds", "bytes": "bytes", "j": "joules", "hz": "hertz"}
    for name, field in fields.items():
        assert units.get(name.rpartition("_")[2], "") in field["description"].lower(), name
    assert set(fields) - set(schemas["Measurement"]["required"]) == {"samples_s"}
    assert fields["median_s"]["anyOf"] == [{"type": "number"}, {"type": "null"}]
    assert schemas["Results"]["properties"]["measurements"]["items"] == {"$ref": "#/components/schemas/Measurement"}
    assert set(schemas["Trace"]["required"]) == {"case", "arrays"}


def test_results_are_of_the_described_form(app: FastAPI) -> None:
    document = results_document(StudyData([MEASUREMENT], traces={("cpu", "c"): Trace("c", {"gamma": (1.0, 0.5)})}))
    schemas = app.openapi()["components"]["schemas"]
    validator = jsonschema_rs.validator_for({**schemas["Results"], "components": {"schemas": schemas}})
    validator.validate(document)
    assert not validator.is_valid({**document, "measurements": [{**document["measurements"][0], "median_s": "1"}]})


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
def test_every_example_is_of_its_type(kind: Any) -> None:
    TypeAdapter(kind).validate_python(EXAMPLES[kind], strict=True)
    assert set(EXAMPLES[kind]) <= set(get_type_hints(kind))


def test_calls_that_need_the_token_ask_for_it(tmp_path: Path) -> None:
    document = create_app(Settings(home=tmp_path, token="x")).openapi()
    assert document["security"] == [{"bearer": []}, {"cookie": []}]
    free = {path for path, methods in document["paths"].items() if methods.get("get", {}).get("security") == []}
    assert free == {"/healthz", "/readyz"}
    without = create_app(Settings(home=tmp_path)).openapi()
    assert "security" not in without
    schemes = without["components"]["securitySchemes"]
    assert {name: scheme["type"] for name, scheme in schemes.items()} == {"bearer": "http", "cookie": "apiKey"}


@pytest.fixture
def used(client: TestClient, database: Database, add_matrix: AddMatrix) -> TestClient:
    """A service with two matrices, each a set, a device and two jobs."""
    devices.register(database, [CPU])
    for matrix in (add_matrix(BATTERY["identity"](), "=A1"), add_matrix(BATTERY["power_law"](), "b")):
        assert client.post("/api/v1/jobs", json={"study": "formats", "matrix_ids": [matrix]}).status_code == 202
        assert client.post("/api/v1/sets", json={"matrix_ids": [matrix]}).status_code == 201
    return client


@pytest.mark.parametrize("path", LISTS)
def test_lists_answer_what_is_described(used: TestClient, path: str) -> None:
    items = used.get(f"/api/v1/{path}").json()["items"]
    assert items
    for item in items:
        TypeAdapter(LISTS[path]).validate_python(item, strict=True)
        assert set(item) == set(get_type_hints(LISTS[path]))


@pytest.mark.parametrize("path", LISTS)
def test_lists_are_csv_too_and_have_a_tag(used: TestClient, path: str) -> None:
    as_json = used.get(f"/api/v1/{path}")
    as_csv = used.get(f"/api/v1/{path}", headers={"Accept": "text/csv"})
    assert as_csv.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(as_csv.text)))
    names = [item.get("id", item.get("name")) for item in as_json.json()["items"]]
    assert [row.get("id", row.get("name")) for row in rows] == names
    assert as_csv.headers["etag"] != as_json.headers["etag"]
    if path != "devices":  # They say when they were last heard of.
        again = used.get(f"/api/v1/{path}", headers={"If-None-Match": f'W/"x", {as_json.headers["etag"]}'})
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("text/csv", "csv"),
        ("TEXT/CSV; header=present", "csv"),
        ("text/*", "csv"),
        ("text/csv, */*", "csv"),
        ("text/csv, application/json", "json"),
        ("text/csv;q=0.5, application/json", "json"),
        ("text/csv;q=0.5, application/json;q=0.4", "csv"),
        ("application/json; q=0.5, text/csv; q=0.50", "json"),
        ("text/csv;q=0, */*", "json"),
        ("text/csv;q=0", "json"),
        ("text/csv;q=nan", "json"),
        ("text/csv;q=0.1, text/*;q=0.9, application/json;q=0.5", "json"),
        ("application/*;q=0.2, text/csv;q=0.3", "csv"),
        (";;,,=", "json"),
    ],
)
def test_the_form_that_is_preferred_is_answered(client: TestClient, accept: str, kind: str) -> None:
    answer = client.get("/api/v1/formats", headers={"accept": accept})
    assert kind in answer.headers["content-type"]
    assert "Accept" in answer.headers["vary"].split(", ")


def test_a_list_links_to_its_next_page_until_it_ends(used: TestClient) -> None:
    first = used.get("/api/v1/matrices?limit=1&sort=name")
    link = re.fullmatch(r'<(/api/v1/matrices\?.+)>; rel="next"', first.headers["link"])
    assert link
    second = used.get(link[1])
    assert [item["name"] for page in (first, second) for item in page.json()["items"]] == ["=A1", "b"]
    assert "link" not in second.headers


def test_no_cell_is_a_formula() -> None:
    assert to_csv([{"name": "=A1", "n": -1}, {"name": "b"}]) == "name,n\n'=A1,-1\nb,\n"
    assert flatten({"a": {"b": {"c": 1}}, "d": [1, "x"]}) == {"a.b.c": 1, "d": '[1, "x"]'}
    assert flatten({"d": [{"name": "x", "n": 1}, {"name": "y"}]}) == {"d": '["x", "y"]'}


def test_the_library_leads_to_the_reference(client: TestClient) -> None:
    for path in ("/", "/matrices", "/jobs"):
        assert 'href="/library"' in client.get(path).text, path
    library = client.get("/library").text
    for address in ("/docs/api", "/glossary", "/reference"):
        assert f'href="{address}"' in library


def test_the_reference_has_every_call_and_every_document(client: TestClient) -> None:
    text, described = client.get("/reference").text, client.get("/api/v1/openapi.json").json()
    calls = [f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods]
    assert sorted(re.findall(r"<summary><code>([A-Z]+ [^<]+)</code>", text)) == sorted(calls)
    assert set(re.findall(r'id="document-(\w+)"', text)) == set(described["components"]["schemas"])
    assert set(re.findall(r'href="#document-(\w+)"', text)) <= set(described["components"]["schemas"])
    assert "integer from 1 to 500" in text
    assert re.findall(r"<script>|https?:", text) == []
