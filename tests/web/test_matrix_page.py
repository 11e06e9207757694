"""The page of a matrix: its answer for n SpMVs on a device, from what was measured, is measured, or is predicted."""

import re
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest
from fastapi.testclient import TestClient

from gpu_engine.findings.formats.decision import decide
from gpu_engine.findings.formats.for_n import crossovers, total_s
from gpu_engine.records import Measurement
from gpu_engine.text.units import count
from server.jobs.queue import get_job
from server.models import DeviceRow, JobRow, JobState, MatrixRow
from tests.samples.formats import study_of, timed
from tests.web.conftest import GPU, ON_GPU, Lab, add_job, get, words
from web.views import matrix_kernels
from web.views.matrix_structure import FACTS

WORDS_MAX = 25


def many() -> list[Measurement]:
    """A matrix on which COO pays from 20 SpMVs on; every kernel has the rounds of a full job."""
    times = {"csr/vector": 1e-3, "csr/scalar": 2e-3, "coo/segmented": 0.5e-3, "split/tile": 0.9e-3}
    return [timed(kernel, time_s, device=GPU.id, rounds=15) for kernel, time_s in times.items()]


def measured(lab: Lab) -> list[Measurement]:
    measurements = many()
    add_job(lab.database, "j30", GPU.id, JobState.SUCCEEDED, measurements)
    return measurements


def heading(text: str) -> str:
    (sentence,) = re.findall(r"<h1[^>]*>(.*?)</h1>", text, re.S)
    return words(sentence)


@pytest.mark.parametrize(
    ("n", "kernel"), [(1, "csr/vector"), (19, "csr/vector"), (30, "coo/segmented"), (10**9, "coo/segmented")]
)
def test_sentence_table_and_lines_are_about_the_same_n(client: TestClient, lab: Lab, n: int, kernel: str) -> None:
    decision = decide(measured(lab), n)
    assert decision
    assert decision.kernel.kernel == kernel
    page = get(client, f"/matrices/{lab.matrix}?device={GPU.id}&n={n}")
    card, table, lines = (page.context[name] for name in ("card", "kernels", "pictures"))
    assert card.state.look == "measured"
    assert heading(page.text) == words(card.sentence)
    assert f" {count(n)} ".replace("\u202f", " ") in words(card.sentence)
    assert kernel in card.sentence
    assert len(card.sentence.split()) <= WORDS_MAX
    order = sorted(decision.costs, key=lambda cost: total_s(cost, n))
    assert [row.kernel for row in table.rows] == [cost.kernel for cost in order]
    assert [row.kernel for row in table.rows if row.is_choice] == [kernel]
    assert lines.lines.cursor[1] == f"n = {count(n)}"
    assert [text for _, _, text in lines.lines.crossings] == [count(step) for step, _ in crossovers(decision.costs)[1:]]
    assert page.context["n"] == n
    assert f'value="{n}"' in page.text


def test_the_table_says_when_a_conversion_pays(client: TestClient, lab: Lab) -> None:
    measured(lab)
    table = get(client, f"/matrices/{lab.matrix}?device={GPU.id}").context["kernels"]
    pays = {row.kernel: (row.pays, row.verdict) for row in table.rows}
    assert pays == {
        "csr/vector": ("baseline", ""),
        "csr/scalar": ("never", "slower"),
        "coo/segmented": ("from 20", "faster"),
        "split/tile": ("from 100", "faster"),
    }


def test_an_equal_kernel_has_no_break_even(client: TestClient, lab: Lab) -> None:
    equal = timed("coo/segmented", 0.999e-3, device=GPU.id, rounds=15, convert_s=1e-6)
    others = [m for m in many() if m.kernel != equal.kernel]
    add_job(lab.database, "j30", GPU.id, JobState.SUCCEEDED, [*others, equal])
    table = get(client, f"/matrices/{lab.matrix}?device={GPU.id}").context["kernels"]
    assert {row.kernel: (row.pays, row.verdict) for row in table.rows}["coo/segmented"] == ("–", "same")


def test_a_choice_of_the_device_keeps_the_number_of_spmvs(client: TestClient, lab: Lab) -> None:
    page = get(client, f"/matrices/{lab.matrix}?n=7")
    devices = {link.text: link for link in page.context["devices"]}
    assert [link.text for link in devices.values() if link.current] == ["H200 (cuda:0)"]
    assert {"H100", "A100", "V100", "P100", "CPU"} < devices.keys()
    for link in devices.values():
        other = get(client, link.href)
        assert (other.status_code, other.context["n"]) == (200, 7)
        assert [each.text for each in other.context["devices"] if each.current] == [link.text]


def test_a_device_without_results_stands_for_its_gpu_model(client: TestClient, lab: Lab) -> None:
    page = get(client, f"/matrices/{lab.hostile}?device=A100-40")
    assert page.context["card"].state.look == "predicted"
    assert page.context["pictures"].dots.heads == ("A100",)
    other = get(client, f"/matrices/{lab.hostile}?device=NVIDIA%20V100")
    assert other.context["device"] == "V100"


@pytest.mark.parametrize("query", ["device=none", "cache=hot", "m=1"])
def test_an_odd_address_is_refused_with_what_may_stand_there(client: TestClient, lab: Lab, query: str) -> None:
    assert get(client, f"/matrices/{lab.matrix}?{query}").status_code == 422


@pytest.mark.parametrize(
    ("text", "n", "is_said"),
    [
        *(("0", 1, True), ("-1", 1, True), ("1000000001", 10**9, True), ("inf", 10**9, True)),
        *(("nan", 500, True), ("many", 500, True), ("7.5", 7, True)),
        *(("1e3", 1000, False), ("1e9", 10**9, False), ("", 500, False)),
    ],
)
def test_an_odd_number_of_spmvs_is_answered_for_the_nearest_one(
    client: TestClient, lab: Lab, text: str, n: int, is_said: bool
) -> None:
    page = get(client, f"/matrices/{lab.matrix}?n={text}")
    assert (page.status_code, page.context["n"]) == (200, n)
    note = page.context["n_note"]
    assert bool(note) == is_said
    assert not note or (count(n).replace("\u202f", ",") in note and text in note)
    assert page.text.partition('id="n-note"')[2].partition(">")[2].startswith(note.replace("'", "&#39;"))


def test_the_baseline_and_the_storage_stand_in_the_answer(client: TestClient, lab: Lab) -> None:
    group = [m.with_(stored_bytes=5_800_000 if m.format == "coo" else 5_300_000) for m in many()]
    add_job(lab.database, "j36", GPU.id, JobState.SUCCEEDED, group)
    kept, taken = (get(client, f"/matrices/{lab.matrix}?device={GPU.id}&n={n}").context["card"] for n in (1, 500))
    assert "csr/vector" in taken.sentence
    assert re.findall(r"[\d.]+(?=\sMB)", words(" ".join(taken.under))) == ["5.80", "5.30"]
    assert re.findall(r"[\d.]+(?=\sMB)", words(" ".join(kept.under))) == ["5.30"]


@pytest.mark.parametrize("device", ["cpu", "A100-40"])
def test_every_answer_can_be_shared(client: TestClient, lab: Lab, device: str) -> None:
    page = get(client, f"/matrices/{lab.matrix}?device={device}")
    assert 'id="share"' in page.text
    files = page.context["actions"].share.files
    assert files
    assert [client.get(file.href).status_code for file in files] == [200] * len(files)


def test_without_a_worker_the_page_says_so(client: TestClient, lab: Lab) -> None:
    address = f"/matrices/{lab.hostile}?device=A100-40"
    assert 'id="no-worker"' not in get(client, address).text
    with lab.database.write() as session:
        for row in session.query(DeviceRow):
            row.seen_at = 0.0
    page = get(client, address)
    assert page.context["actions"].measure is None
    assert 'href="/service"' in page.text.partition('id="no-worker"')[2].partition("</p>")[0]
    assert 'id="no-worker"' not in get(client, f"/matrices/{lab.matrix}?device=cpu").text


def test_noise_is_no_answer_and_no_verdict(client: TestClient, lab: Lab) -> None:
    noisy = [m.with_(aa_gap=0.3) for m in many()]
    add_job(lab.database, "j31", GPU.id, JobState.SUCCEEDED, noisy)
    page = get(client, f"/matrices/{lab.matrix}?device={GPU.id}")
    assert page.context["card"].state.look == "busy"
    table = page.context["kernels"]
    assert not table.is_judged, "neither verdicts nor break-even points"
    assert all(re.fullmatch(r"\d+ rounds?", row.spread) for row in (*table.rows, *table.folded))
    assert page.context["pictures"].lines is None
    assert {(row.verdict, row.is_choice) for row in page.context["kernels"].rows} == {("", False)}
    assert not re.search("[▲▼]|word (faster|slower)", page.text.partition('id="others"')[0])


def test_a_running_job_is_the_state_of_the_answer_until_it_has_results(client: TestClient, lab: Lab) -> None:
    add_job(lab.database, "j32", "cpu", JobState.QUEUED, [], (lab.hostile,))
    with lab.database.write() as session:
        for job_id in ("j1", "j5"):
            session.delete(session.get(JobRow, job_id))
    address = f"/matrices/{lab.hostile}?device=cpu"
    page = get(client, address)
    assert page.context["topics"] == "job:j32"
    assert (page.context["card"].state.look, page.context["kernels"]) == ("running", None)
    assert page.context["pictures"].live.race.rows
    assert page.context["actions"].measure is None
    with lab.database.write() as session:
        job = get_job(session, "j32")
        job.state = JobState.RUNNING
        job.interim = [{"case": f"{lab.hostile}|csr/vector|warm|", "median_s": 1e-3, "rounds": 3}]
    page = get(client, address)
    assert "csr/vector" in page.context["card"].sentence
    with lab.database.write() as session:
        get_job(session, "j32").state = JobState.CANCELLED
        get_job(session, "j32").finished_at = 1.0
    add_job(lab.database, "j33", "cpu", JobState.SUCCEEDED, study_of(lab.hostile))
    assert get(client, address).context["card"].state.look == "measured"


def test_measuring_again_does_not_take_the_answer_away(client: TestClient, lab: Lab) -> None:
    measured(lab)
    add_job(lab.database, "j34", GPU.id, JobState.QUEUED, [], (lab.matrix,))
    page = get(client, f"/matrices/{lab.matrix}?device={GPU.id}")
    assert page.context["card"].state.look == "measured"
    assert "/jobs/j34" in [link.href for link in page.context["running"]]


def test_the_button_measures_and_leads_back_to_the_answer(client: TestClient, lab: Lab) -> None:
    page = get(client, f"/matrices/{lab.matrix}?device=cpu&n=9")
    button = page.context["actions"].measure
    assert button.device == "cpu"
    answer = client.post(f"/matrices/{lab.matrix}/measure?n=9", data={"device": button.device}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/matrices/{lab.matrix}?n=9&device=cpu")
    jobs = get(client, answer.headers["location"]).context["jobs"]
    with lab.database.read() as session:
        job = get_job(session, jobs[0].id)
        assert (job.study, job.device, job.matrix_ids) == ("formats", "cpu", [lab.matrix])
    assert client.post("/matrices/none/measure", data={"device": "cpu"}).status_code == 422


def test_the_kernel_of_the_answer_is_ready_to_use(client: TestClient, lab: Lab) -> None:
    measured(lab)
    use = get(client, f"/matrices/{lab.matrix}?device={GPU.id}").context["actions"].use
    assert (use.kernel, use.archive, use.note) == ("coo/segmented", "coo/segmented", "")
    assert 'kernel="coo/segmented"' in use.code
    library = timed("cusparse/coo_alg1", 0.4e-3, device=GPU.id, rounds=15)
    add_job(lab.database, "j35", GPU.id, JobState.SUCCEEDED, [*many(), library])
    page = get(client, f"/matrices/{lab.matrix}?device={GPU.id}")
    assert "cusparse/coo_alg1" in page.context["card"].sentence
    assert page.context["actions"].use.kernel == "coo/segmented"
    assert "cusparse/coo_alg1" in page.context["actions"].use.note
    on_cpu = get(client, f"/matrices/{lab.hostile}?device=cpu").context["actions"].use
    assert on_cpu.archive == ""


def test_every_fact_is_of_the_stored_features(client: TestClient, lab: Lab) -> None:
    structure = get(client, f"/matrices/{lab.matrix}").context["structure"]
    with lab.database.read() as session:
        row = session.get(MatrixRow, lab.matrix)
        assert row
        assert structure.facts[:-1] == tuple((name, fact(row)) for name, fact in FACTS)
        rows = sum(int(number.replace("\u202f", "").replace(",", "")) for _, number, _ in structure.histogram)
        assert rows <= row.n_rows
    assert max(share for _, _, share in structure.histogram) == 1.0
    spy = client.get(structure.spy)
    assert spy.headers["content-type"] == "image/png"


def test_cold_and_warm_are_two_answers(client: TestClient, lab: Lab) -> None:
    warm = get(client, f"/matrices/{lab.matrix}?device={GPU.id}").context
    (cold,) = warm["caches"]
    assert cold.text == "cold"
    other = get(client, cold.href).context
    assert [link.text for link in other["caches"]] == ["warm"]
    assert other["kernels"].rows[0].spmv != warm["kernels"].rows[0].spmv
    assert ON_GPU not in warm["card"].sentence


@pytest.mark.parametrize(("cache", "iterations"), [("cold", "70"), ("warm", "")])
def test_shared_files_and_the_report_are_about_the_question(
    client: TestClient, lab: Lab, cache: str, iterations: str
) -> None:
    cold = [timed(m.kernel, 2.0 * (m.median_s or 0.0), device=GPU.id, rounds=15, cache="cold") for m in many()]
    add_job(lab.database, "j30", GPU.id, JobState.SUCCEEDED, [*many(), *cold])
    asked = f"n=7&cache={cache}" + (f"&iterations={iterations}" if iterations else "")
    page = get(client, f"/matrices/{lab.matrix}?device={GPU.id}&{asked}")
    card = page.context["card"]
    for file in page.context["actions"].share.files:
        query = dict(parse_qsl(urlsplit(file.href).query))
        assert query.items() >= {"n": "7", "cache": cache, "device": GPU.id, "matrix": lab.matrix}.items()
        assert query.get("iterations", "") == iterations
        assert client.get(file.href).status_code == 200
    (report,) = (file.href for file in page.context["actions"].share.files if "/formats.html" in file.href)
    text = client.get(report).text
    assert heading(text) == words(card.sentence)
    assert all(words(sentence) in words(text) for sentence in card.under)


def test_the_drawer_of_formats_leads_to_the_same_question(client: TestClient, lab: Lab) -> None:
    cold = [timed(m.kernel, 2.0 * (m.median_s or 0.0), device=GPU.id, rounds=15, cache="cold") for m in many()]
    add_job(lab.database, "j30", GPU.id, JobState.SUCCEEDED, [*many(), *cold])
    query = f"device={GPU.id}&cache=cold&n=7&iterations=70"
    drawer = get(client, f"/formats?{query}&open={lab.matrix}").context["drawer"]
    there = get(client, drawer.links[0].href).context
    assert [there[name] for name in ("device", "cache", "n", "iterations")] == [GPU.id, "cold", 7, 70]
    assert "cold" in there["card"].when


def test_a_report_without_a_number_of_spmvs_says_what_its_page_says(client: TestClient, lab: Lab) -> None:
    measured(lab)
    query = f"matrix={lab.matrix}&device={GPU.id}"
    explore = get(client, f"/formats?{query}").context["explore"]
    assert heading(client.get(f"/formats.html?{query}").text) == words(explore.sentence)


def test_kernels_without_a_time_are_counted_once() -> None:
    skipped = [replace(timed(f"k{number}/a", 1.0), state="skipped", note="Too large.") for number in range(2)]
    failed = replace(timed("k/b", 1.0), state="failed", note="It crashed.")
    counts = {
        number: re.findall(r"\d", " ".join(matrix_kernels._without_time(group)))
        for number, group in enumerate(([], skipped[:1], skipped, [*skipped, failed]))
    }
    assert counts == {0: [], 1: ["1"], 2: ["2"], 3: ["3", "2", "1"]}


def primary(text: str) -> list[tuple[str, str]]:
    """The ids of the first button of an answer."""
    actions = text.partition('<div id="actions"')[2].partition('<div id="picture"')[0]
    return re.findall(r'id="(use)">\s*<summary class="button primary"|id="([\w-]+)" class="primary"', actions)


def test_the_first_button_answers_the_question(client: TestClient, lab: Lab) -> None:
    """A measurement on another device than the chosen one does not."""
    here = get(client, f"/matrices/{lab.matrix}?device=cpu&n=5")
    other = get(client, f"/matrices/{lab.matrix}?device=V100&n=5")
    assert other.context["actions"].measure.device != "V100"
    assert primary(other.text) == [("use", "")]
    assert here.context["actions"].measure.device == "cpu"
    assert len(primary(here.text)) == 1
