"""What only `/formats` has: a baseline, a pair of formats, what is preferred where several jobs fit."""

import json
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gpu_engine.text.units import THIN
from server.models import JobState
from tests.conftest import AddMatrix
from tests.samples.formats import HOSTILE, study_of, timed
from tests.web.conftest import Lab, add_job, add_measurement, get, sample_matrix, words
from web import components
from web.kernels import PRESETS
from web.studies.formats import FORMATS

NONE = components.Chart("", "", "0", "")


def figure_of(client: TestClient, address: str, name: str) -> Any:
    """The figure of that name, open on the page."""
    (figure,) = get(client, f"{address}&view={name}").context["figures"]
    return figure


def test_it_starts_warm(client: TestClient, lab: Lab) -> None:
    context = get(client, "/formats").context
    (caches,) = (switch for switch in context["switches"] if switch.label == "Cache")
    assert [(link.text, link.current) for link in caches.links] == [("cold", False), ("warm", True), ("both", False)]
    every = get(client, caches.links[2].href).context
    assert {line.finding.cache for line in every["findings"]} == {"cold", "warm"}
    assert "both" in {link.text for switch in every["switches"] for link in switch.links if link.current}
    assert {line.finding.cache for line in context["findings"]} == {"warm"}
    both = get(client, "/formats?job=j1").context
    (answer,) = both["answers"]
    assert answer.sentence.startswith("csr/vector ")
    assert "over 2 matrices on CPU, warm" in answer.sentence


def test_chosen_matrices_without_results_are_counted(client: TestClient, lab: Lab, add_matrix: AddMatrix) -> None:
    add_matrix(sample_matrix(), "new", "m9")
    (answer,) = get(client, f"/formats?device=cpu&matrix={lab.matrix}&matrix={lab.hostile}&matrix=m9").context[
        "answers"
    ]
    assert answer.note == "1 of the 3 selected matrices has no results."
    for chosen in (f"matrix={lab.matrix}&matrix=m9", f"matrix={lab.matrix}&matrix={lab.hostile}&matrix=m9"):
        under = get(client, f"/formats?device=cpu&{chosen}").context["explore"].under
        assert [sentence.split()[0] for sentence in under if "results" in sentence] == ["new"]
    (answer,) = get(client, f"/formats?device=cpu&matrix={lab.matrix}").context["answers"]
    assert answer.note == "1 of the 2 measured matrices is not selected."


def test_the_chosen_matrices_and_the_newest_others_are_offered(
    client: TestClient, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.views.chips.CHOICES_MAX", 1)
    context = get(client, f"/formats?device=cpu&matrix={lab.hostile}").context
    assert context["matrices"] == (components.Choice(lab.hostile, HOSTILE, True),)
    both = get(client, f"/formats?device=cpu&matrix={lab.hostile}&matrix={lab.matrix}").context
    assert {choice.value for choice in both["matrices"]} == {lab.hostile, lab.matrix}


def test_a_pair_that_nothing_has_measured_is_a_sentence(client: TestClient, lab: Lab) -> None:
    response = get(client, "/formats?job=j1&pair=pellr&pair=hyb&view=ratio")
    (ratio,) = response.context["figures"]
    assert (ratio.chart.version, ratio.table) == ("0", None)
    assert ratio.note
    assert ratio.note in words(response.text)


def test_a_lone_matrix_has_no_pair_to_choose(client: TestClient, lab: Lab) -> None:
    context = get(client, "/formats?job=j1&matrix=m1").context
    assert [field.id for field in context["selects"]] == ["baseline"]
    assert [answer.sentence for answer in context["answers"]] == [
        f"csr/vector is fastest of cnr-2000 on CPU: 800{THIN}µs."
    ]


def test_devices_stand_beside_each_other_where_two_are_chosen(client: TestClient, lab: Lab) -> None:
    add_job(lab.database, "j9", "cuda:0", JobState.SUCCEEDED, study_of(lab.hostile, "cuda:0", 0.02))

    def seen(query: str) -> tuple[str, bool, str]:
        context = get(client, f"/formats?{query}&view=systems").context
        systems = next(iter(context["figures"]), None)
        return getattr(systems, "chart", NONE).version, bool(systems and systems.table), context["hidden_figures"]

    title = FORMATS.figure("systems").title
    assert seen("device=cpu") == ("0", False, f"Select all devices to see “{title}”.")
    version, has_table, few = seen("device=cpu&device=cuda:0")
    assert (version != "0", has_table, few) == (True, True, "")


def test_the_address_chooses_the_pair_and_the_baseline(client: TestClient, lab: Lab) -> None:
    context = get(client, "/formats?job=j1&pair=coo&pair=csr&baseline=coo/segmented").context
    chosen = {field.id: [each.value for each in field.options if each.chosen] for field in context["selects"]}
    assert chosen == {"baseline": ["coo/segmented"], "pair-first": ["coo"], "pair-second": ["csr"]}
    assert [choice.value for choice in context["selects"][1].options] == ["", "coo", "csr"]
    ratio = figure_of(client, "/formats?job=j1&pair=coo&pair=csr", "ratio")
    assert {row[0] for row in ratio.table.rows} == {"coo vs csr"}
    assert {line.finding.baseline for line in context["findings"]} == {"coo/segmented"}


def test_a_whole_job_is_preferred_to_a_newer_one_under_way(client: TestClient, lab: Lab) -> None:
    context = get(client, "/formats?matrix=m1&device=cpu").context
    assert [job.href for job in context["jobs"]] == ["/jobs/j1"]
    assert len(context["findings"][0].finding.rows) == 4


def test_a_device_with_more_matrices_comes_before_one_with_more_jobs(client: TestClient, lab: Lab) -> None:
    for number in range(20, 24):
        add_job(lab.database, f"j{number}", "cuda:0", JobState.SUCCEEDED, study_of(lab.matrix, "cuda:0", 0.01))
    context = get(client, f"/formats?matrix={lab.matrix}&matrix={lab.hostile}").context
    assert [(line.finding.matrix_id, line.finding.device) for line in context["findings"]] == [
        (lab.matrix, "CPU"),
        (lab.hostile, "CPU"),
    ]


def test_jobs_of_a_chosen_matrix_are_found_behind_newer_ones_of_others(
    client: TestClient, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.result_sources.JOBS_MAX", 3)
    for number in range(20, 23):
        add_job(lab.database, f"j{number}", "cpu", JobState.SUCCEEDED, study_of(lab.hostile))
    context = get(client, f"/formats?matrix={lab.matrix}&device=cpu").context
    assert [job.href for job in context["jobs"]] == ["/jobs/j1"]


def test_the_address_chooses_everything(client: TestClient, lab: Lab) -> None:
    kernels = "kernel=csr%2Fscalar&kernel=coo%2Fsegmented&baseline=coo%2Fsegmented"
    context = get(client, f"/formats?matrix=m1&matrix=m2&device=cpu&cache=cold&{kernels}").context
    assert [line.finding.title for line in context["findings"]] == ["cnr-2000", HOSTILE]
    for line in context["findings"]:
        finding = line.finding
        assert (finding.device, finding.cache, finding.baseline) == ("CPU", "cold", "coo/segmented")
        assert [row.label for row in finding.rows] == ["coo/segmented", "csr/scalar"]


def test_failed_and_skipped_kernels_keep_their_reason(client: TestClient, lab: Lab) -> None:
    assert "skipped needs 41 GB of memory; the limit is 16 GB" in words(get(client, "/formats?job=j1&matrix=m1").text)


def test_a_set_of_matrices_is_kept_by_its_address(client: TestClient, lab: Lab) -> None:
    text = get(client, "/formats?matrix=m1&matrix=m2").text
    assert '<button type="button" data-copy-link>Copy link to this selection</button>' in text


def test_names_of_kernels_are_code(client: TestClient, lab: Lab) -> None:
    verdicts, ranking = (get(client, f"/formats?job=j1&view={view}").text for view in ("verdicts", "ranking"))
    assert "<code>csr/vector</code> is fastest on CPU, warm" in verdicts
    assert re.search("<code>csr/vector</code> [^<]* over 2 matrices", ranking)


def test_the_formats_of_the_papers_figures_are_one_click_away(client: TestClient, lab: Lab) -> None:
    side = side_by_side(client, "/formats?job=j1&series=figure-12")
    (switch,) = side.switches
    assert [(link.text, link.current) for link in switch.links] == [
        ("all", False),
        ("Figure 11", False),
        ("Figure 12", True),
    ]
    assert "series=figure-11" in switch.links[1].href
    assert "Figure 12" in side.chart.summary


def side_by_side(client: TestClient, address: str) -> Any:
    return figure_of(client, address, "side-by-side")


def test_the_matrices_of_the_heatmap_are_sorted_by_links_and_by_a_kernel(client: TestClient, lab: Lab) -> None:
    side = side_by_side(client, "/formats?job=j1")
    _, switch = side.switches
    assert [(link.text, link.current) for link in switch.links] == [
        ("σ ↑", True),
        ("nnz", False),
        ("mean row length", False),
        ("speedup over baseline", False),
    ]
    assert [link.href for link in switch.links[:2]] == [
        "/formats?job=j1&sort=-sigma&view=side-by-side",
        "/formats?job=j1&sort=nnz&view=side-by-side",
    ]
    turned = side_by_side(client, switch.links[0].href.removesuffix("&view=side-by-side"))
    assert [link.text for link in turned.switches[1].links if link.current] == ["σ ↓"]
    assert "by descending σ" in turned.chart.summary
    (form,) = side.forms
    (field,) = form.fields
    assert field.choices[1:3] == (
        components.Choice("coo/segmented", "coo/segmented: smallest slowdown first"),
        components.Choice("-coo/segmented", "coo/segmented: largest slowdown first"),
    )
    by_kernel = side_by_side(client, "/formats?job=j1&sort=-coo/segmented")
    assert not any(link.current for link in by_kernel.switches[1].links)
    assert [choice.value for choice in by_kernel.forms[0].fields[0].choices if choice.chosen] == ["-coo/segmented"]
    assert by_kernel.forms[0].hidden == (("job", "j1"), ("view", "side-by-side"))
    assert "sort=-coo%2Fsegmented" in by_kernel.chart.url
    assert client.get("/formats?sort=rows").status_code == 422


def test_the_papers_statements_and_its_equations_stand_on_the_page(client: TestClient, lab: Lab) -> None:
    for kernel in ("pellr/thread", "ellr/thread"):
        add_measurement(lab.database, "j1", timed(kernel, 1e-3))
    context = get(client, "/formats?job=j1&view=conclusions").context
    (table,) = (titled.table for titled in context["conclusions"].tables)
    assert {row[-2:] for row in table.rows} == {("CPU", "warm")}
    (structure,) = (titled.table for titled in context["features"].tables)
    assert [f"{head.text} {head.unit}".rstrip() for head in structure.heads][-3:] == [
        "n_iter ELLR",
        "n_iter PELLR",
        "n_p",
    ]


def test_a_preset_of_kernels_unfolds_its_rows_and_compares_with_all(client: TestClient, lab: Lab) -> None:
    for kernel, seconds in (("pellr/thread", 1e-3), ("split/tile", 4e-3)):
        for matrix in (lab.matrix, lab.hostile):
            add_measurement(lab.database, "j1", timed(kernel, seconds, matrix=matrix))
    rows = {}
    for kernels in ("best", "paper", "libraries", "all"):
        context = get(client, f"/formats?job=j1&kernels={kernels}").context
        (answer,) = context["answers"]
        rows[kernels] = [row[0] for row in answer.table.rows]
        assert [link.text for link in context["kernels"].presets if link.current] == [PRESETS[kernels]]
        profile, rate = (
            figure_of(client, f"/formats?job=j1&kernels={kernels}", name) for name in ("performance-profile", "rate")
        )
        assert (" kernels." in profile.chart.summary.splitlines()[0]) == (kernels != "all")
        assert {cell for row in profile.table.rows for cell in row} >= {"csr/vector", "split/tile"}, "compared with all"
        assert client.get(rate.chart.url).status_code == 200
    assert rows["best"] == ["csr/vector", "coo/segmented", "csr/scalar", "pellr/thread", "split/tile"]
    assert rows["paper"] == ["csr/vector", "pellr/thread"], "the leader and the baseline stay"
    assert rows["libraries"] == ["csr/vector", "coo/segmented", "csr/scalar", "split/tile"]
    assert rows["all"] == rows["best"]


def test_kernels_chosen_one_by_one_are_compared_alone(client: TestClient, lab: Lab) -> None:
    context = get(client, "/formats?job=j1&kernel=csr/scalar&kernel=coo/segmented").context
    (answer,) = context["answers"]
    assert [row[0] for row in answer.table.rows] == ["coo/segmented", "csr/scalar"]
    assert answer.note.startswith("Only the 2 selected kernels are compared.")
    assert [choice.value for choice in context["kernels"].kernels if choice.chosen] == ["coo/segmented", "csr/scalar"]
    assert "csr/vector" in [choice.value for choice in context["kernels"].kernels]
    assert not any(link.current for link in context["kernels"].presets)
    assert {href.partition("kernels=")[2] for href in (link.href for link in context["kernels"].presets)} == {*PRESETS}


def switched(client: TestClient, address: str, label: str = "Operation") -> dict[str, Any]:
    """The links of a switch by what they say."""
    (switch,) = (each for each in get(client, address).context["switches"] if each.label == label)
    return {link.text: link for link in switch.links}


def test_a_matrix_and_its_transpose_are_shown_apart_and_beside_each_other(client: TestClient, lab: Lab) -> None:
    address = f"/formats?device=cpu&matrix={lab.matrix}"
    assert "Operation" not in {switch.label for switch in get(client, address).context["switches"]}
    across = [timed(kernel, 1e-3 * s, transposed=True) for kernel, s in (("csr/vector", 4.0), ("coo/segmented", 1.6))]
    # A later job of Aᵀ alone takes nothing from what is known of A.
    add_job(lab.database, "j9", "cpu", JobState.SUCCEEDED, across, params={"op": "AT"})
    both = get(client, address).context
    assert [line.finding.title for line in both["findings"]] == ["cnr-2000", "cnr-2000ᵀ"]
    assert [answer.sentence.partition(":")[0] for answer in both["answers"]] == [
        "csr/vector is fastest of cnr-2000 on CPU",
        "coo/segmented is fastest of cnr-2000ᵀ on CPU",
    ]
    (section,) = (each for each in both["sections"] if each.id == "transpose")
    ((*_, own, own_s, other, other_s, ratio),) = section.tables[0].table.rows
    seen = own, own_s, other, other_s, ratio
    assert seen == ("csr/vector", f"800{THIN}µs", "coo/segmented", f"1.60{THIN}ms", f"2.00{THIN}×")
    links = switched(client, address)
    assert {text: link.current for text, link in links.items()} == {"A": False, "Aᵀ": False, "both": True}
    alone = {text: get(client, link.href).context for text, link in links.items() if text != "both"}
    assert {text: [line.finding.title for line in context["findings"]] for text, context in alone.items()} == {
        "A": ["cnr-2000"],
        "Aᵀ": ["cnr-2000ᵀ"],
    }
    (line,) = alone["Aᵀ"]["findings"]
    assert [line.finding.title for line in get(client, line.href).context["findings"]] == ["cnr-2000ᵀ"]
    assert switched(client, links["A"].href)["A"].current


def test_only_kernels_that_gave_the_same_bits_are_shown_where_that_is_chosen(client: TestClient, lab: Lab) -> None:
    address = f"/formats?device=cpu&matrix={lab.matrix}"
    assert "reproducible" not in {field.id for field in get(client, address).context["selects"]}
    (overview,) = get(client, address).context["overview"]
    assert "not recorded on CPU, warm" in overview
    measured = [
        timed("coo/segmented", 0.5e-3, bitwise_reproducible=False),
        timed("hyb/segmented", 0.6e-3, bitwise_reproducible=True, reproducible_rebuild=False),
        timed("csr/vector", 0.8e-3, bitwise_reproducible=True, reproducible_rebuild=True),
        timed("jad/thread", 0.9e-3, bitwise_reproducible=True),
        timed("ell/thread", 0.1e-3),
    ]
    add_job(lab.database, "j9", "cpu", JobState.SUCCEEDED, measured)
    (field,) = (each for each in get(client, address).context["selects"] if each.id == "reproducible")
    assert [(choice.value, choice.text) for choice in field.options] == [
        ("", "all kernels"),
        ("true", "bitwise reproducible only"),
    ]
    context = get(client, f"{address}&reproducible=true").context
    (line,) = context["findings"]
    assert [row.label for row in line.finding.rows] == ["csr/vector", "jad/thread"]
    (field,) = (each for each in context["selects"] if each.id == "reproducible")
    assert [choice.chosen for choice in field.options] == [False, True]
    # The figures of the API are of the same choice.
    drawn = client.get(f"/api/v1/figures/formats?device=cpu&matrix={lab.matrix}&reproducible=true").json()
    said = json.dumps(drawn)
    assert "jad/thread" in said
    assert "coo/segmented" not in said


def test_the_drawer_and_the_page_of_the_matrix_give_the_same_answer(client: TestClient, lab: Lab) -> None:
    times = {"csr/vector": 133e-6, "csr/scalar": 102e-6, "ell/thread": 80e-6}
    common: dict[str, Any] = {"rounds": 15, "roofline_s": 1e-9, "gather_probe_s": 1e-9}
    measured = [timed(k, s, **common, convert_s=3.14e-3 if k == "ell/thread" else 0.0) for k, s in times.items()]
    add_job(lab.database, "j42", "cpu", JobState.SUCCEEDED, measured)
    page = get(client, "/matrices/m1?n=500&device=cpu")
    card, explore = page.context["card"], get(client, "/formats?device=cpu&matrix=m1").context["explore"]
    (for_n,) = (sentence for sentence in explore.under if "500" in sentence)
    assert "speedup 1.27" in explore.sentence
    for text in ("csr/scalar", "143"):
        assert text in explore.sentence
        assert text in " ".join((card.sentence, *card.under))
    for text in ("ell/thread", "1.18", "csr/scalar"):
        assert (text in card.sentence, text in for_n) == (True, True)
    assert "csr/vector" not in explore.sentence
    assert explore.pictures[-1].heading == page.context["pictures"].lines.heading
    job = get(client, "/jobs/j42").text
    assert "over csr/scalar" in words(job)
