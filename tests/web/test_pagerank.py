"""What only `/pagerank` has: graphs, another schedule to replay, traces, and times of a CPU called so."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from server import devices
from server.db import Database
from server.models import JobState
from tests.conftest import AddMatrix
from tests.samples.pagerank import ran
from tests.web.conftest import CPU, GPU, ON_GPU, add_job, add_study, get, sample_matrix, words
from web.studies.pagerank import CPU_CAVEAT, PAGERANK


@pytest.fixture
def ranked(database: Database, add_matrix: AddMatrix) -> str:
    """A matrix with a job on the CPU, j2, and a newer one on the GPU, j3."""
    devices.register(database, [CPU, GPU])
    matrix = add_matrix(sample_matrix(), "luxembourg", "m1")
    add_study(database, "pagerank", "j2", [matrix])
    add_study(database, "pagerank", "j3", [matrix], "cuda:0")
    return matrix


def test_times_of_a_cpu_are_called_so(client: TestClient, ranked: str) -> None:
    assert CPU_CAVEAT in words(get(client, "/pagerank?device=cpu").text)
    assert get(client, "/pagerank?device=cuda:0").context["caveat"] == ""
    both = get(client, "/pagerank?device=cuda:0&device=cpu").context
    assert both["caveat"]
    assert [line.finding.device for line in both["findings"]] == [ON_GPU, "CPU"]


def test_where_figure_4_is_looked_for_there_is_a_link_to_it(client: TestClient, ranked: str) -> None:
    page = get(client, "/pagerank?job=j3&view=pagerank-pull")
    (pull,) = (figure for figure in page.context["figures"] if figure.name == "pagerank-pull")
    assert [link.href for link in pull.links] == ["/reduced_spmv"]
    head = page.text.partition('id="pagerank-pull-head"')[2].partition("</div>")[0]
    assert '<a href="/reduced_spmv">Figure 4 ' in head
    assert page.text.count('<a href="/reduced_spmv">Figure 4 ') == 1, "the figure of several graphs is not shown of one"


def test_graphs_say_how_many_pages_dangle(client: TestClient, ranked: str) -> None:
    context = get(client, "/pagerank?job=j2&view=structure").context
    matrix = sample_matrix()
    empty = sum(int(end == begin) for begin, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True))
    (graphs,) = context["features"].tables
    heads = [head.text for head in graphs.table.heads]
    assert graphs.table.rows[0][heads.index("dangling pages")] == str(empty)
    assert [chart.url for chart in context["structure"]] == ["/api/v1/figures/row-lengths?matrix=m1"]


def test_graphs_say_what_was_multiplied(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    devices.register(database, [CPU])
    add_matrix(sample_matrix(), "luxembourg", "m1")
    whole = ran("csr/thread+fp64", 9, matrix="m1", links=14, dangling_pages=1)
    lower = ran("csr/thread+fp64", 9, matrix="m1", axes=(("part", "lower"),), links=7, dangling_pages=2)
    add_job(database, "j1", "cpu", JobState.SUCCEEDED, [whole[0], lower[0]], study="pagerank")
    (graphs,) = get(client, "/pagerank?job=j1&view=structure").context["features"].tables
    assert graphs.table.rows[0][-2:] == ("14 / 7", "1 / 2")


def test_the_address_chooses_the_schedule_that_is_replayed(client: TestClient, ranked: str) -> None:
    def replayed(query: str) -> list[tuple[str, str, str]]:
        context = get(client, f"/pagerank?job=j2&view=pagerank-what-if{query}").context
        (figure,) = (figure for figure in context["figures"] if figure.name == "pagerank-what-if")
        return [row[2:5] for row in figure.table.rows if "replayed" in row[2]]

    assert replayed("") == [
        ("csr/thread+fp64 replayed", "start segments 1, raise at 16, stall ratio 0.98", "55/58"),
        ("csr/thread+fp64 replayed", "start segments 1, raise at 16, stall ratio 0.98", "1/54/54/4"),
    ]
    assert replayed("&start_segments=4&raise_at=1&stall_ratio=2&replay=csr/thread%2Bpattern") == [
        ("csr/thread+pattern replayed", "start segments 4, raise at 1, stall ratio 2", "0/0/0/113")
    ]
    page = get(client, "/pagerank?job=j2&matrix=m1&raise_at=3&replay=csr/thread%2Bcpms4&view=pagerank-what-if")
    context = page.context
    ((form,),) = (figure.forms for figure in context["figures"] if figure.name == "pagerank-what-if")
    assert {field.name: field.value for field in form.fields} == {
        "start_segments": "1",
        "raise_at": "3",
        "stall_ratio": "0.98",
        "epsilon": "",
        "replay": "csr/thread+cpms4",
    }
    assert [choice.value for choice in form.fields[-1].choices if choice.chosen] == ["csr/thread+cpms4"]
    for field in form.fields[:-1]:
        assert f'title="{field.name}">{field.label}</label>' in page.text
        assert field.label not in ("", field.name)
    view = ("view", "pagerank-what-if")
    assert form.hidden == (("job", "j2"), ("matrix", "m1"), view)
    # Each form leaves out its own fields.
    address = (("job", "j2"), ("matrix", "m1"), view, ("raise_at", "3"), ("replay", "csr/thread+cpms4"))
    assert context["hidden"] == address
    (chips,) = (form for form in page.text.split("<form ")[1:] if 'type="checkbox" name="matrix"' in form)
    chips = chips.partition("</form>")[0]
    kept = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', chips)
    assert tuple(kept) == tuple(pair for pair in address if pair[0] != "matrix")
    assert all(figure.forms == () for figure in context["figures"] if figure.name != "pagerank-what-if")


def test_what_has_no_trace_has_nothing_to_replay(client: TestClient) -> None:
    page = get(client, "/pagerank")
    assert all(figure.forms == () for figure in page.context["figures"])
    assert 'name="replay"' not in page.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("raise_at=much", "raise_at is 'much'"),
        ("start_segments=9", "start_segments is '9'"),
        ("stall_ratio=-1", "stall_ratio is '-1.0'"),
        ("raise_at=nan", "raise_at is 'nan'"),
        ("raise_at=1&raise_at=2", "raise_at is given 2 times."),
    ],
)
def test_a_schedule_that_is_none_is_refused(client: TestClient, ranked: str, query: str, said: str) -> None:
    for url in (f"/pagerank?job=j2&{query}", f"/api/v1/figures/pagerank-what-if?job=j2&{query}"):
        response = client.get(url)
        assert response.status_code == 422
        assert said in response.json()["detail"]


def test_tables_stand_below_the_figure_they_belong_to(client: TestClient, ranked: str) -> None:
    under: dict[str, Any] = {}
    for figure in PAGERANK.figures:
        for drawn in get(client, f"/pagerank?job=j2&view={figure.name}").context["figures"]:
            under |= {drawn.name: drawn.sections} if drawn.sections else {}
    ids = {name: [section.id for section in sections] for name, sections in under.items()}
    assert ids == {"pagerank-gamma": ["top"], "pagerank-schedule": ["paper"]}
    (top,) = under["pagerank-gamma"]
    assert top.tables[0].table.rows[0][:4] == ("luxembourg", "CPU", "1", "7")


def test_downloads_have_the_traces(client: TestClient, ranked: str) -> None:
    document = client.get("/pagerank.json?job=j2").json()
    assert [len(trace["arrays"]["gamma"]) for trace in document["traces"]] == [113] * 5


def test_a_run_without_a_time_says_why(client: TestClient, ranked: str) -> None:
    page = get(client, "/pagerank?job=j2")
    assert [(row.label, row.word) for row in page.context["findings"][0].finding.rows][-1] == (
        "ell/thread+cpms2",
        "skipped",
    )
    assert "skipped needs 41 GB of memory; the limit is 16 GB" in words(page.text)
