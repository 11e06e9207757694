"""The page of all matrices: what it shows at first, facets, what leads."""

import re
import zlib
from dataclasses import asdict
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from gpu_engine.generators import find_generator, generate
from gpu_engine.parameters import parse_params
from gpu_engine.recordings import files as recordings
from server import first_start, import_recordings
from server.catalogue import FACETS
from server.models import MatrixRow
from tests.samples.formats import HOSTILE
from tests.samples.recording import sample
from tests.web.conftest import Lab, add_study, get, sample_matrix
from web.palette import mark_of
from web.thumbnails import COLOR, FAINTEST, thumbnail
from web.views import catalogue
from web.views.catalogue import SOURCES


@pytest.fixture
def imported(database: Any, tmp_path: Path) -> None:
    recordings.write(tmp_path / "recorded" / "h200" / "formats.json.gz", sample())
    import_recordings.run(database, tmp_path / "recorded")


def names(client: TestClient, url: str) -> set[str]:
    return {line.matrix.name for line in get(client, url).context["matrices"]}


def current(client: TestClient, url: str) -> list[str]:
    return [link.text for link in get(client, url).context["sources"].links if link.current]


def test_what_is_mine_comes_first(client: TestClient, imported: None, lab: Lab) -> None:
    assert current(client, "/matrices") == [SOURCES["mine"]]
    mine, recorded = names(client, "/matrices"), names(client, "/matrices?source=recorded")
    assert "cnr-2000" in mine
    assert "a grid" in recorded
    assert not mine & recorded
    assert names(client, "/matrices?source=all") == mine | recorded


def test_where_nothing_is_mine_all_are_shown(client: TestClient, imported: None) -> None:
    assert current(client, "/matrices") == ["all"]
    assert "a grid" in names(client, "/matrices")


def test_facets_narrow_the_list(client: TestClient, lab: Lab) -> None:
    with lab.database.write() as session:
        wide, small = (session.get(MatrixRow, matrix_id) for matrix_id in (lab.matrix, lab.hostile))
        assert wide
        assert small
        wide.n_rows, wide.n_cols, wide.nnz, wide.source = 5, 9, 20_000_000, {"kind": "upload"}
        small.features = {**small.features, "symmetric": True}
        small.n_cols, small.source = small.n_rows, {"kind": "generated"}
        wide_name, small_name = wide.name, small.name
    assert names(client, "/matrices?shape=rectangular") == {wide_name}
    assert names(client, "/matrices?shape=symmetric") == {small_name}
    assert names(client, "/matrices?nnz=over-10m") == {wide_name}
    assert small_name in names(client, "/matrices?nnz=under-100k")
    assert names(client, "/matrices?kind=generated&shape=square") == {small_name}
    assert names(client, "/matrices?kind=collection") == set()
    assert client.get("/matrices?shape=round").status_code == 422
    items = client.get("/api/v1/matrices?nnz=over-10m").json()["items"]
    assert [item["name"] for item in items] == [wide_name]


def test_a_study_has_results_of_some_matrices_here_or_elsewhere(client: TestClient, imported: None, lab: Lab) -> None:
    add_study(lab.database, "pagerank", "j30", [lab.hostile])
    elsewhere = {"a grid", "web-Test"}
    assert names(client, "/matrices?results=formats&source=all") == {"cnr-2000", HOSTILE} | elsewhere
    assert names(client, "/matrices?results=formats&source=recorded") == elsewhere
    assert names(client, "/matrices?results=pagerank&source=all") == {HOSTILE}
    assert names(client, "/matrices?results=batched&source=all") == set()
    refused = client.get("/matrices?results=speed").json()["detail"]
    assert "'speed'" in refused


def test_lists_as_files_and_the_page_of_a_study_keep_to_what_has_results(client: TestClient, lab: Lab) -> None:
    page = get(client, "/matrices?results=formats&q=cnr")
    (link,) = re.findall(r'href="(/matrices\.json[^"]*)"', page.text)
    assert [item["name"] for item in client.get(unescape(link)).json()["items"]] == ["cnr-2000"]
    assert "results=formats" in link
    assert 'href="/matrices?source=all&amp;results=formats">' in get(client, "/formats").text


def test_every_facet_of_the_page_is_one_of_the_list() -> None:
    shown = {name: [*values] for name, (_, values) in catalogue.FACETS.items()} | {"source": [*catalogue.SOURCES]}
    assert shown == {name: [*values] for name, values in FACETS.items()}


def test_what_leads_and_where_it_was_measured(client: TestClient, imported: None, lab: Lab) -> None:
    lines = {line.matrix.name: line for line in get(client, "/matrices?source=all").context["matrices"]}
    assert (lines["cnr-2000"].best, lines["cnr-2000"].measured_on) == ("csr/vector", "CPU, H200 (cuda:0)")
    assert (lines["a grid"].best, lines["a grid"].measured_on) == ("csr/vector", "H200")
    assert lines["cnr-2000"].mark == mark_of("csr/vector")
    assert (lines["failed.mtx"].best, lines["failed.mtx"].mark, lines["failed.mtx"].measured_on) == ("", ("", ""), "")


def test_a_matrix_without_formats_results_names_its_studies(client: TestClient, lab: Lab, add_matrix: Any) -> None:
    add_study(lab.database, "pagerank", "j30", [add_matrix(sample_matrix(), "graph", "m3")])
    lines = {line.matrix.id: line for line in get(client, "/matrices?source=all").context["matrices"]}
    assert (lines["m3"].best, lines["m3"].measured_on) == ("", "CPU (PageRank)")


def test_samples_are_not_of_the_user(client: TestClient, lab: Lab, add_matrix: Any) -> None:
    name, generator, params = first_start.SAMPLES[0]
    whole = asdict(parse_params(find_generator(generator).Params, params))
    add_matrix(generate(generator, params), name, "sample")
    with lab.database.write() as session:
        source = {"kind": "generated", "generator": generator, "params": whole}
        session.execute(update(MatrixRow).where(MatrixRow.id == "sample").values(source=source))
    assert re.findall(r"\d+", get(client, "/matrices").context["counts"]) == ["4", "1"]


def test_the_first_sentence_counts_all_matrices(client: TestClient, imported: None, lab: Lab) -> None:
    assert re.findall(r"\d+", get(client, "/matrices").context["counts"]) == ["4", "2"]


def test_a_matrix_with_values_has_a_small_picture(client: TestClient, lab: Lab) -> None:
    lines = {line.matrix.name: line for line in get(client, "/matrices").context["matrices"]}
    answer = client.get(lines["cnr-2000"].spy)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert "private" in answer.headers["cache-control"]
    assert lines["failed.mtx"].spy == ""
    assert client.get("/matrices/failed/spy.png").status_code == 404


def test_a_thumbnail_is_as_opaque_as_its_cells_are_full() -> None:
    png = thumbnail([[0, 1], [0, 100]])
    start = png.index(b"IDAT")
    pixels = zlib.decompress(png[start + 4 :])
    rows = [pixels[1:9], pixels[10:18]]
    assert [row[3::4][0] for row in rows] == [0, 0]
    assert FAINTEST < rows[0][7] < rows[1][7] == 255
    assert tuple(rows[1][4:7]) == COLOR
    assert thumbnail([[1] * 200] * 100)[16:24] == (34).to_bytes(4, "big") + (34).to_bytes(4, "big")


def test_generators_say_what_they_make(client: TestClient) -> None:
    (family,) = (f for f in get(client, "/matrices?generator=rmat").context["generators"] if f.chosen)
    assert (family.name, family.expectation) == (
        "rmat",
        "About 1,048,576 nonzeros, 12.6\u202fMB of columns and values.",
    )
    call = {"generator": "stencil", "points": 5, "nx": 3, "ny": 2}
    predicted = client.post("/api/v1/matrices/generate/preview", json=call).json()
    assert (predicted["nnz"], predicted["bytes"], predicted["params"]["nz"]) == (20, 240, 1)
    huge = client.post("/api/v1/matrices/generate/preview", json={"generator": "rmat", "scale": 28, "edge_factor": 256})
    assert huge.status_code == 413
    assert "68,719,476,736 nonzeros; at most" in huge.json()["detail"]
    assert client.get("/api/v1/matrices").json()["items"] == []


def test_a_search_without_a_match_says_where_there_is_one(client: TestClient, imported: None, lab: Lab) -> None:
    page = get(client, "/matrices?q=a+grid&shape=square")
    (link,) = page.context["elsewhere"]
    assert re.findall(r"\d+", link.text) == ["1"]
    assert link.href == "/matrices?q=a+grid&source=recorded&shape=square"
    assert f'href="{link.href}"'.replace("&", "&amp;") in page.text.partition('id="no-match"')[2]
    assert names(client, link.href) == {"a grid"}
    assert get(client, "/matrices?q=nowhere").context["elsewhere"] == ()
    assert get(client, "/matrices?q=cnr").context["elsewhere"] == ()
