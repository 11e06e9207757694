"""What is shown as files: CSV and JSON with names and verdicts, tables for papers, reports that need no server."""

import base64
import csv
import gzip
import io
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient

from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import THIN
from server.models import JobState
from tests.programs import missing
from tests.samples.formats import HOSTILE, study_of, timed
from tests.samples.solvers import solved
from tests.samples.studies import records_of
from tests.web.conftest import Lab, add_job, get
from web.components import TitledTable
from web.files import LEADING, WRITERS
from web.latex import LONG, PREAMBLE, ROWS_MAX, SHORT
from web.share import WITH_ANSWERS, share_of
from web.studies import PAGES
from web.studies.base import no_tables
from web.studies.formats import FORMATS

PIVOT, ANSWER = "/formats/tables/pivot.tex?job=j42", "/formats/tables/answers.tex?job=j42"

QUIET = {"roofline_s": 1e-9, "gather_probe_s": 1e-9}

TABLE = TitledTable(
    "A & B",
    Table((Head("kernel_name", numeric=False), Head("time", "µs")), (("a|b", "1,234"), ("50 %", "–"))),
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


def converted(matrix: str, cache: str = "warm") -> list[Measurement]:
    """Three kernels, of which csr/scalar is the fastest of CSR, and ell/thread pays from 143 SpMVs on."""
    times = {"csr/vector": 133e-6, "csr/scalar": 102e-6, "ell/thread": 80e-6}
    common: dict[str, Any] = {
        "matrix": matrix,
        "rounds": 15,
        "cache": cache,
        "roofline_s": 1e-9,
        "gather_probe_s": 1e-9,
    }
    return [timed(k, s, **common, convert_s=3.14e-3 if k == "ell/thread" else 0.0) for k, s in times.items()]


def test_the_csv_of_a_matrix_has_the_numbers_of_its_page(client: TestClient, lab: Lab) -> None:
    add_job(lab.database, "j42", "cpu", JobState.SUCCEEDED, converted("m1"))
    page = get(client, "/matrices/m1?n=500&device=cpu")
    table = page.context["kernels"]
    (link,) = (link for link in page.context["actions"].share.files if link.text == "CSV")
    rows = {row["kernel"]: row for row in rows_of(client.get(link.href).text)}
    assert {row["csr_baseline"] for row in rows.values()} == {table.baseline} == {"csr/scalar"}
    assert {row["n_spmvs"] for row in rows.values()} == {"500"}
    shown = {row.kernel: (row.verdict or "baseline", row.total.replace(THIN, " "), row.pays) for row in table.rows}
    assert shown["ell/thread"] == ("faster", "43.1 ms", "from 143")
    ell, vector, scalar = rows["ell/thread"], rows["csr/vector"], rows["csr/scalar"]
    assert [row["verdict"] for row in (ell, vector, scalar)] == ["faster", "slower", "baseline"]
    assert float(ell["total_s"]) == pytest.approx(3.14e-3 + 500 * 80e-6)
    assert float(ell["times_as_fast"]) == pytest.approx(102 / 80)
    assert [row["break_even_spmvs"] for row in (ell, vector, scalar)] == ["143", "never", ""]
    report = client.get(link.href.replace(".csv", ".html")).text
    (values,) = re.findall(r'href="data:application/gzip;base64,([^"]+)"', report)
    assert gzip.decompress(base64.b64decode(values)).decode() == client.get(link.href).text


def test_the_answers_are_a_table_for_papers(client: TestClient, lab: Lab) -> None:
    add_job(lab.database, "j42", "cpu", JobState.SUCCEEDED, [*converted("m1"), *converted("m2")])
    rows = rows_of(client.get(ANSWER.replace(".tex", ".csv")).text)
    assert len(rows) == 3
    for row in rows[:2]:
        assert (row["kernel"], row["for 500 SpMVs"], row["break-even (SpMVs)"]) == ("ell/thread", "ell/thread", "143")
        assert [row[name][:4] for name in ("speedup (vs csr/scalar)", "speedup (vs best CSR)")] == ["1.27", "1.18"]
    assert rows[2]["matrix"] == "geometric mean of 2"
    texts = [client.get(ANSWER.replace(".tex", ending)).text for ending in (".csv", ".tex")]
    assert not any("\u2060" in text for text in texts)
    assert all(row["95 % CI"].count("–") == 1 for row in rows[:2])


def test_a_batch_of_each_size_has_a_verdict(client: TestClient, lab: Lab) -> None:
    measurements, _ = records_of("batched", ("m1", "m2"), "cuda:0")
    add_job(lab.database, "j43", "cuda:0", JobState.SUCCEEDED, measurements, study="batched")
    rows = rows_of(client.get("/batched.csv?job=j43").text)
    sizes = {row["details.batch_size"] for row in rows if row["median_s"]}
    assert len(sizes) > 1
    assert {row["details.batch_size"] for row in rows if row["median_s"] and row["verdict"]} == sizes


def test_a_conversion_of_a_solve_has_one_time_in_all_files(client: TestClient, lab: Lab) -> None:
    first, other = solved("sellp/t1", convert_s=17e-3), solved("sellp/t1", method="gmres", convert_s=1e-3)
    solves = [replace(m, matrix_id="m1", case=m.case.replace("plane", "m1")) for m in (first, other)]
    add_job(lab.database, "j44", "cuda:0", JobState.SUCCEEDED, solves, study="solvers")
    assert {row["details.convert_s"] for row in rows_of(client.get("/solvers.csv?job=j44").text)} == {"0.001"}
    document = client.get("/solvers.json?job=j44").json()
    assert {m["details"]["convert_s"] for m in document["measurements"]} == {1e-3}


def test_json_names_its_matrices_and_units(client: TestClient, lab: Lab) -> None:
    document = client.get("/formats.json?job=j1").json()
    assert {known["name"] for known in document["matrices"].values()} == {"cnr-2000", HOSTILE}
    assert document["units"]["_s"] == "seconds"


def test_tables_as_files_say_what_tables_say() -> None:
    assert WRITERS[".csv"]([TABLE]).splitlines() == ["kernel_name,time (µs)", "a|b,1234", "50 %,"]
    markdown = WRITERS[".md"]([TABLE])
    assert "| a\\|b" in markdown
    assert "**1,234** |" in markdown
    tex = WRITERS[".tex"]([TABLE])
    assert r"\begin{tabular}{lS[table-format=4.0]}" in tex
    assert rf"\caption[{{A \& B}}]{{A \& B. {LEADING}}}\label{{tab:a-b}}" in tex
    assert r"{kernel\_name} & {\shortstack[r]{time\\(\textmu{}s)}} \\" in tex
    assert [line for line in tex.splitlines() if line.startswith(("a|b", "50"))] == [
        r"a|b & \bfseries 1234 \\",
        r"50 \% & {--} \\",
    ]


def test_columns_of_one_unit_are_numbers_and_others_are_text() -> None:
    rows = (f"1.5{THIN}×", f"1{THIN}µs", "10⁻⁶"), ("–", f"2{THIN}ms", "x₁"), (f"−12{THIN}×", "", "ᵀ")
    tex = WRITERS[".tex"]([TitledTable("T", Table((Head("gain"), Head("time"), Head("bound")), rows))])
    assert r"\begin{tabular}{S[table-format=-2.1]rr}" in tex
    assert r"{\shortstack[r]{gain\\($\times$)}}" in tex
    assert [line for line in tex.splitlines() if line.count("&") == 2 and "gain" not in line] == [
        r"1.5 & 1\,\textmu{}s & 10$^{-6}$ \\",
        r"{--} & 2\,ms & x$_{1}$ \\",
        r"-12 &  & $^{\mathsf{T}}$ \\",
    ]


def test_means_of_a_table_have_a_rule_above_them_and_keys_are_columns_of_its_csv() -> None:
    summed = replace(TABLE, keys=(("device", "cpu"),), means=1, label="mine")
    tex = WRITERS[".tex"]([summed])
    assert "\\midrule\n50" in tex
    assert r"\label{tab:mine}" in tex
    assert WRITERS[".csv"]([summed]).splitlines() == ["device,kernel_name,time (µs)", "cpu,a|b,1234", "cpu,50 %,"]


@pytest.mark.parametrize(("rows", "kind", "note"), [(ROWS_MAX, "tabular", SHORT), (ROWS_MAX + 1, "longtable", LONG)])
def test_a_table_of_few_rows_needs_no_longtable(rows: int, kind: str, note: str) -> None:
    tex = WRITERS[".tex"]([TitledTable("T", Table((Head("n"),), tuple((str(row),) for row in range(rows))))])
    assert re.findall(r"\\begin\{(tabular|longtable)\}", tex) == [kind]
    assert [line for line in tex.splitlines() if line.startswith("%")] == [PREAMBLE, note]


def test_files_are_downloads_with_a_name(client: TestClient, lab: Lab) -> None:
    files = ("pivot.tex?top=1", "pivot.md", "pivot.csv")
    answers = [client.get(f"/formats/tables/{file}") for file in files]
    answers += [client.get(f"/formats.{ending}") for ending in ("csv", "json", "bib", "html")]
    names = [answer.headers["content-disposition"].split('"')[1] for answer in answers]
    assert names[:3] == [
        "sparsight-formats-pivot-top1.tex",
        "sparsight-formats-pivot.md",
        "sparsight-formats-pivot.csv",
    ]
    assert names[3:] == [f"sparsight-formats.{ending}" for ending in ("csv", "json", "bib", "html")]


@pytest.mark.parametrize("of", ["{article}", "[twocolumn]{article}"])
def test_latex_compiles(client: TestClient, lab: Lab, tmp_path: Path, of: str) -> None:
    program = shutil.which("pdflatex") or missing("texlive-science")
    add_job(lab.database, "j42", "cpu", JobState.SUCCEEDED, [*converted("m1"), *converted("m2")])
    names = ("pivot.tex", "pivot.tex?top=1", "structure.tex", "answers.tex?job=j42")
    body = "".join(client.get(f"/formats/tables/{name}").text for name in names)
    packages = r"\usepackage[utf8]{inputenc}\usepackage{textcomp}\usepackage{booktabs,graphicx,longtable,siunitx}"
    text = f"\\documentclass{of}{packages}\\begin{{document}}\n{body}\\end{{document}}\n"
    (tmp_path / "paper.tex").write_text(text, encoding="utf-8")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, errors="replace")
    assert ended.returncode == 0, ended.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 1000


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
    assert (own["device"], own["cache"]) == ("CPU", "warm")
    assert float(own["fastest (µs)"]) == pytest.approx(1e6 * fastest, rel=1e-3)
    assert {k: float(own[k]) for k in times} == pytest.approx({k: t / fastest for k, t in times.items()}, abs=0.01)


def test_kernels_by_matrices_are_those_of_the_answer(client: TestClient, lab: Lab) -> None:
    many = [timed(f"csr/k{n}", 1e-3 * 1.1**n) for n in range(8)]
    busy = [timed(f"csr/k{n}", 1e-3, matrix="m2", aa_gap=0.9) for n in range(8)]
    add_job(lab.database, "j41", "cpu", JobState.SUCCEEDED, [*many, *busy])
    best = client.get("/formats/tables/pivot.tex?job=j41").text
    place = "CPU $\\cdot$ warm $\\cdot$ 5 of 8 kernels $\\cdot$ too noisy: 1 of 2"
    assert f"{{Slowdown against the fastest kernel $\\cdot$ {place}. Bold:" in best
    assert r"\label{tab:formats-cpu}" in best
    assert [re.findall(r"\\bfseries (\S+)", line) for line in best.splitlines() if "cnr-2000" in line] == [["1.00"]]
    rows = rows_of(client.get("/formats/tables/pivot.csv?job=j41&kernels=all").text)
    assert [(row["matrix"], row["csr/k0"]) for row in rows] == [
        ("cnr-2000", "1.00"),
        (HOSTILE, ""),
        ("geometric mean of 1", "1.00"),
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
    mean = "geometric mean of 2"
    assert {name[-1] for name in names} == {"matrices counted"}, "some kernels have a time on one of them"
    assert [name[:-1] for name in names] == [
        ["cnr-2000", HOSTILE, mean],
        [HOSTILE, "cnr-2000", mean],
        ["cnr-2000", HOSTILE, mean],
    ]
    assert get(client, "/formats/tables/share-numbers?job=j40").context["columns"] == {}


def test_every_folded_table_has_a_page_and_files(client: TestClient, lab: Lab) -> None:
    views = [get(client, f"/formats?job=j1&view={view}").text for view in ("cases", "formats")]
    links = {link for text in views for link in re.findall(r'data-table="([^"]+)"', text)}
    assert len(links) > 1
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
    assert "<script" not in text
    assert re.findall(r"<(?:img|link|iframe|source)\b", text) == []
    drawings = re.findall(r'<div class="plot" aria-hidden="true"><svg .*?</svg></div>', text, re.S)
    assert len(drawings) > 3
    (values,) = re.findall(r'href="data:application/gzip;base64,([^"]+)"', text)
    assert gzip.decompress(base64.b64decode(values)).decode() == client.get("/formats.csv?job=j1").text
    for wanted in ("A laptop&#39;s processor (cpu)", "@misc{sparsight,", "http://127.0.0.1:8000/formats?job=j1"):
        assert wanted in text


def test_rows_of_a_table_can_be_the_first_ones_with_the_means_of_all(client: TestClient, lab: Lab) -> None:
    every, first = (rows_of(client.get(f"/formats/tables/pivot.csv?job=j1{top}").text) for top in ("", "&top=1"))
    means = [row for row in every if row["matrix"].startswith("geometric mean of ")]
    assert means
    assert first == [every[0], *means]
    assert len(every) > len(first)
    add_job(lab.database, "j42", "cpu", JobState.SUCCEEDED, [*converted("m1"), *converted("m2")])
    for address, words in ((f"{PIVOT}&sort=-best", "largest"), (ANSWER, "largest"), (PIVOT, "sorted")):
        caption = client.get(f"{address}&top=1").text
        assert ("the 1 of 2 " in caption, words in caption) == (True, True), address
    assert client.get("/formats/tables/pivot.csv?job=j1&top=0").status_code == 422
    page = get(client, "/formats/tables/pivot?job=j1&top=1")
    assert {file.href.partition("&")[2] for file in page.context["files"]} == {"top=1"}


def test_what_can_be_taken_away_is_there(client: TestClient, lab: Lab) -> None:
    shared = share_of("formats", "job=j1")
    assert [client.get(file.href).status_code for file in shared.files] == [200] * 8
    assert client.get(shared.own_kernel.href).status_code == 200
    assert client.get(share_of("formats", "").files[0].href).status_code == 200
    assert len(share_of("formats", "matrix=m1").files) == 7
    assert {page.name for page in PAGES if page.answer_tables is not no_tables} == {*WITH_ANSWERS}
    cited = client.get("/formats.bib?job=j1")
    assert cited.text.startswith("@misc{sparsight,")
    assert "http://127.0.0.1:8000/formats?job=j1" in cited.text


def test_a_drawing_is_of_its_figure_and_says_where_it_comes_from(client: TestClient, lab: Lab) -> None:
    drawing = client.get("/figures/formats.svg?job=j1&width=400&version=3")
    assert drawing.headers["content-type"] == "image/svg+xml"
    root = ElementTree.fromstring(drawing.text)
    assert root.get("width") == "400"
    assert "var(--ink)" in drawing.text
    paper = client.get("/figures/formats.svg?job=j1&paper=true").text
    texts = [element.text for element in ElementTree.fromstring(paper).iter() if element.text]
    assert "http://127.0.0.1:8000/formats?job=j1" in texts
    assert FORMATS.figure("formats").title in texts
    assert "var(" not in paper
    assert client.get("/figures/formats.svg?width=1").status_code == 422
    assert client.get("/figures/none.svg").status_code == 404
