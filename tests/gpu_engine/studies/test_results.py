"""The document of results: what is counted, what is called fastest, and that it is what the API describes."""

from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement, Trace
from gpu_engine.studies.results import SCHEMA, findings_of, of_study, results_document, summary
from server import result_documents
from tests.samples import batched, formats, pagerank, scaling
from tests.samples.formats import timed, untimed

FIRST, SAME, SLOWER = timed("csr/vector", 800e-6), timed("coo/segmented", 803e-6), timed("csr/scalar", 1e-3)
VAGUE = timed("ell/thread", 840e-6, ci_low_s=700e-6, ci_high_s=950e-6)


def summed(*measurements: Measurement) -> dict[str, object]:
    return summary(measurements, findings_of(StudyData(measurements)))


def test_measurements_are_counted_by_their_state() -> None:
    unconverged = replace(pagerank.ran("csr/thread+fp64", 5)[0], state="unconverged")
    found = summed(FIRST, SLOWER, unconverged, untimed("a/b", "failed", "no"), untimed("a/c", "skipped", "no"))
    del found["fastest"]
    assert found == {"total": 5, "ok": 2, "unconverged": 1, "failed": 1, "skipped": 1}


def test_what_is_fastest_is_said_where_it_is_decided() -> None:
    assert summed(SLOWER, SAME, FIRST)["fastest"] == [
        {
            "study": "formats",
            "matrix_id": "m1",
            "device": "cpu",
            "cache": "warm",
            "axes": {},
            "kernel": "csr/vector",
            "same": ["coo/segmented"],
            "median_s": 800e-6,
            "gflops": pytest.approx(2.5),
        }
    ]


@pytest.mark.parametrize(
    "undecided",
    [
        (),
        (FIRST, VAGUE),
        (replace(FIRST, aa_gap=0.3), SLOWER),
        (replace(FIRST, state="unconverged"),),
        (untimed("csr/vector", "failed", "no"),),
    ],
    ids=["nothing", "inconclusive", "busy", "unconverged", "failed"],
)
def test_nothing_is_fastest_where_that_is_not_decided(undecided: tuple[Measurement, ...]) -> None:
    assert summed(*undecided)["fastest"] == []


def test_the_time_is_that_of_the_first_leader_in_whatever_order_the_rows_are() -> None:
    later = scaling.worked("pCSR/p*-opt", 0.0400), scaling.worked("pCSR/p*", 0.0402)
    data = scaling.shown(*later)
    (finding,) = findings_of(data)
    assert [row.label for row in finding.rows] == ["pCSR/p*", "pCSR/p*-opt"]
    (fastest,) = summary(data.measurements, [finding])["fastest"]
    assert (fastest["kernel"], fastest["same"], fastest["median_s"]) == ("pCSR/p*-opt", ["pCSR/p*"], 0.04)


EVERYTHING = StudyData(
    [
        *formats.study_of("m1"),
        *pagerank.shown(*pagerank.luxembourg()).measurements,
        *batched.copies(),
        *scaling.shared(),
    ]
)


def test_the_document_of_every_study_is_what_the_api_describes() -> None:
    trace = Trace("c", {"gamma": (1.0, 0.5)})
    found = results_document(replace(EVERYTHING, traces={("cpu", "c"): trace}))
    assert list(found) == ["schema", "measurements", "traces", "verdicts", "summary"]
    assert found["schema"] == SCHEMA
    for verdict in found["verdicts"]:
        TypeAdapter(result_documents.Finding).validate_python(verdict, strict=True)
    TypeAdapter(result_documents.Summary).validate_python(found["summary"], strict=True)
    assert found["traces"] == [{"case": "c", "arrays": {"gamma": [1.0, 0.5]}}]
    assert {v["study"] for v in found["verdicts"]} == {"formats", "pagerank", "batched", "scaling"}
    assert [m["case"] for m in found["measurements"]] == [m.case for m in EVERYTHING.measurements]


def test_raw_samples_are_there_where_they_are_asked_for() -> None:
    data = StudyData([replace(FIRST, samples_s=(1.0, 2.0))])
    assert "samples_s" not in results_document(data)["measurements"][0]
    assert results_document(data, samples=True)["measurements"][0]["samples_s"] == [1.0, 2.0]


def test_the_measurements_of_one_study_keep_the_rest() -> None:
    found = of_study(replace(EVERYTHING, baseline="csr/scalar"), "batched")
    assert {m.study for m in found.measurements} == {"batched"}
    assert found.baseline == "csr/scalar"
