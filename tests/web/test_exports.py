"""What is shown as files: CSV and JSON with names and verdicts, tables for papers, reports that need no server."""

import csv
import io
import json
import re
from dataclasses import replace

import plotly.io
import pytest
from fastapi.testclient import TestClient

from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import THIN
from server.models import JobState
from tests.samples.formats import HOSTILE, study_of, timed
from tests.web.conftest import Lab, add_job, get
from web.components import TitledTable
from web.files import LEADING, WRITERS
from web.studies.formats import FORMATS

TABLE = TitledTable(
    "A & B",
    Table((Head("kernel_name", numeric=False), Head("time", "µs")), (("a|b", f"1{THIN}234"), ("50 %", "–"))),
    leading=frozenset({(0, 1)}),
)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_names_ratios_and_verdicts_and_no_empty_column(client: TestClient, lab: Lab) -> None:
    rows = rows_of(client.get("/formats.csv?job=j1&matrix=m1").text)
    assert {row["matrix"] for row in rows} == {"cnr-2000"}
    own = {row["kernel"]: (row["verdict"], row["times_as_fast"], row["baseline"]) for row in rows}
    assert own["csr/vector"] == ("baseline", "1.0", "csr/vector")
    assert {verdict for verdict, _, _ in own.values()} > {"baseline", "slower"}
    assert all(any(row[name] for row in rows) for name in rows[0])
    assert len(rows) == len([m for m in study_of("m1") if m.cache == "warm"])


def test_json_names_its_matrices_and_units(client: TestClient, lab: Lab) -> None:
    document = client.get("/formats.json?job=j1").json()
    assert {known["name"] for known in document["matrices"].values()} == {"cnr-2000", HOSTILE}
    assert document["units"]["_s"] == "seconds"


def test_tables_as_files_say_what_tables_say() -> None:
    assert WRITERS[".csv"]([TABLE]).splitlines() == ["kernel_name,time (µs)", "a|b,1234", "50 %,"]
    markdown = WRITERS[".md"]([TABLE])
    assert "| a\\|b" in markdown
    assert f"**1{THIN}234** |" in markdown
    tex = WRITERS[".tex"]([TABLE])
    for wanted in (r"kernel\_name", r"\textbf{1\,234}", r"50 \%", r"time (\textmu{}s)", r"\toprule"):
        assert wanted in tex
    caption = rf"\caption{{A \& B. {LEADING}}}"
    assert f"{caption}\n\\label{{tab:a-b}}\n\\begin{{tabular}}{{lr}}\n" in tex
    assert tex.endswith("\\end{tabular}\n\\end{table}\n")
    assert tex.count("rule") == 3


def test_means_of_a_table_have_a_rule_above_them_and_keys_are_columns_of_its_csv() -> None:
    summed = replace(TABLE, keys=(("device", "cpu"),), means=1)
    lines = WRITERS[".tex"]([summed]).splitlines()
    assert [line for line in lines if "rule" in line or "50" in line] == [
        r"\toprule",
        r"\midrule",
        r"\midrule",
        lines[-4],
        r"\bottomrule",
    ]
    assert "50" in lines[-4]
    assert WRITERS[".csv"]([summed]).splitlines() == ["device,kernel_name,time (µs)", "cpu,a|b,1234", "cpu,50 %,"]


def test_tables_of_one_csv_are_told_apart_by_their_headings() -> None:
    other = TitledTable("C", TABLE.table)
    assert WRITERS[".csv"]([TABLE, other]).splitlines() == [
        "table,kernel_name,time (µs)",
        "A & B,a|b,1234",
        "A & B,50 %,",
        "",
        "table,kernel_name,time (µs)",
        "C,a|b,1234",
        "C,50 %,",
    ]


def test_kernels_by_matrices(client: TestClient, lab: Lab) -> None:
    rows = rows_of(client.get("/formats/tables/pivot.csv?job=j1").text)
    times = {m.kernel: m.median_s for m in study_of("m1") if m.cache == "warm" and m.median_s}
    fastest = min(times.values())
    (own,) = (row for row in rows if row["matrix"] == "cnr-2000")
    assert (own["device"], own["cache"]) == ("cpu", "warm")
    assert float(own["fastest (µs)"]) == pytest.approx(1e6 * fastest, rel=1e-3)
    assert {k: float(own[k]) for k in times} == pytest.approx({k: t / fastest for k, t in times.items()}, abs=0.01)


def test_kernels_by_matrices_are_those_of_the_answer(client: TestClient, lab: Lab) -> None:
    many = [timed(f"csr/k{n}", 1e-3 * 1.1**n) for n in range(8)]
    busy = [timed(f"csr/k{n}", 1e-3, matrix="m2", aa_gap=0.9) for n in range(8)]
    add_job(lab.database, "j41", "cpu", JobState.SUCCEEDED, [*many, *busy])
    best = client.get("/formats/tables/pivot.tex?job=j41").text
    place = "cpu $\\cdot$ warm $\\cdot$ 6 of 8 kernels $\\cdot$ too noisy: 1 of 2"
    assert f"\\caption{{Slowdown against the fastest kernel $\\cdot$ {place}. Bold:" in best
    assert [re.findall(r"bf[{](.*?)}", line) for line in best.splitlines() if "cnr-2000" in line] == [["1.00"]]
    rows = rows_of(client.get("/formats/tables/pivot.csv?job=j41&kernels=all").text)
    assert [(row["matrix"], row["csr/k0"]) for row in rows] == [
        ("cnr-2000", "1.00"),
        (HOSTILE, ""),
        ("geometric mean", "1.00"),
    ]
    (answer,) = get(client, "/formats?job=j41&kernels=all").context["answers"]
    means = {row[0]: row[1].replace(THIN, " ") for row in answer.table.rows}
    assert {label: f"{rows[-1][label]} ×" for label in means} == means, "as the page has them"


def test_kernels_by_matrices_are_sorted_by_a_column(client: TestClient, lab: Lab) -> None:
    slow = [timed("csr/scalar", 1e-2, matrix="m2"), timed("csr/vector", 1e-3, matrix="m2")]
    add_job(lab.database, "j40", "cpu", JobState.SUCCEEDED, [*study_of("m1"), *slow])
    address = "/formats/tables/pivot?job=j40"
    column = get(client, address).context["columns"]["csr/scalar"]
    assert (column.href, column.order) == (f"{address}&sort=csr%2Fscalar", "")
    up = get(client, column.href)
    column = up.context["columns"]["csr/scalar"]
    assert (column.href, column.order) == (f"{address}&sort=-csr%2Fscalar", "ascending")
    assert f'aria-sort="ascending"><a href="{column.href.replace("&", "&amp;")}">csr/scalar ↑</a>' in up.text
    names = [
        [row["matrix"] for row in rows_of(client.get(url.replace("pivot", "pivot.csv")).text)]
        for url in (f"{address}&sort=csr/scalar", f"{address}&sort=-csr/scalar", f"{address}&sort=best")
    ]
    mean = "geometric mean"
    assert names == [["cnr-2000", HOSTILE, mean], [HOSTILE, "cnr-2000", mean], ["cnr-2000", HOSTILE, mean]]
    assert get(client, "/formats/tables/share-numbers?job=j40").context["columns"] == {}


def test_every_folded_table_has_a_page_and_files(client: TestClient, lab: Lab) -> None:
    text = get(client, "/formats?job=j1").text
    links = set(re.findall(r'data-table="([^"]+)"', text))
    assert links
    for link in links:
        page = get(client, link.replace("&amp;", "&"))
        assert (page.status_code, page.template.name) == (200, "table.html")
        for file in page.context["files"]:
            assert client.get(file.href).status_code == 200


def test_what_is_no_table_is_not_found(client: TestClient, lab: Lab) -> None:
    assert "no table 'none'" in client.get("/formats/tables/none").json()["detail"]
    assert "Endings: .csv, .md, .tex" in client.get("/formats/tables/pivot.xls").json()["detail"]


@pytest.mark.parametrize("name", ["jobs", "matrices", "devices"])
def test_lists_are_files_at_the_address_of_their_page(client: TestClient, lab: Lab, name: str) -> None:
    items = client.get(f"/{name}.json").json()["items"]
    assert items == client.get(f"/api/v1/{name}").json()["items"]
    answer = client.get(f"/{name}.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    assert [row["id"] for row in rows_of(answer.text)] == [item["id"] for item in items]
    assert f'href="/{name}.csv' in get(client, f"/{name}").text


def test_a_figure_says_where_it_comes_from(client: TestClient, lab: Lab) -> None:
    meta = client.get("/api/v1/figures/formats?job=j1").json()["layout"]["meta"]
    assert meta["provenance"]["title"] == FORMATS.figure("formats").title
    (line,) = meta["provenance"]["lines"]
    assert re.fullmatch(r"A laptop's processor \(cpu\), measured \d{4}-\d\d-\d\d", line)
    spy = client.get("/api/v1/figures/spy?matrix=m1").json()["layout"]["meta"]
    assert spy["provenance"]["lines"] == ["cnr-2000"]


def test_a_report_needs_nothing_but_itself(client: TestClient, lab: Lab) -> None:
    answer = client.get("/formats.html?job=j1")
    assert answer.headers["content-disposition"] == 'attachment; filename="sparsight-formats.html"'
    text = answer.text
    assert re.findall(r"<(?:script|img|link|iframe)[^>]*\s(?:src|href)=", text.replace(plotly_js(), "")) == []
    blocks = re.findall(r'<script type="application/json"(?: id="data")?>(.*?)</script>', text, re.S)
    *figures, data = blocks
    drawn = get(client, "/formats?job=j1").context["figures"]
    assert len(figures) == sum(figure.chart.version != "0" for figure in drawn)
    assert all(plotly.io.from_json(figure).data for figure in figures)
    assert len(json.loads(data)["measurements"]) == 8
    for wanted in ("A laptop&#39;s processor (cpu)", "@misc{sparsight,", "http://127.0.0.1:8000/formats?job=j1"):
        assert wanted in text


def plotly_js() -> str:
    from web import assets

    return assets.text(assets.PLOTLY)
