from dataclasses import replace

import pytest

from gpu_engine.findings.finding import Finding
from gpu_engine.findings.scaling import findings
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.scaling import (
    NOTE,
    by_cusparse,
    chosen,
    cold,
    iterated,
    ranked,
    resident,
    shared,
    shown,
    unworked,
    worked,
)


def only(*measurements: Measurement) -> Finding:
    """The finding on a lone work."""
    (finding,) = findings(shown(*measurements))
    return finding


def rows(*measurements: Measurement) -> dict[tuple[str, str], tuple[str, ...]]:
    """Verdict, ratio and what follows the number of devices, by label and number of devices."""
    found = (tuple(cell.replace(THIN, " ") for cell in row) for row in only(*measurements).table.rows)
    return {(label, devices): (word, ratio, *cells) for label, word, ratio, devices, *cells in found}


def test_a_product_from_the_host_is_held_against_one_device_and_the_baseline() -> None:
    found = rows(*cold(), unworked("pCSR/p*", "needs 41 GB", 8))
    assert found["pCSR/p*-opt", "4"] == (
        *("faster", "3.12 ×", "32.0 ms", "31.7 ms – 32.3 ms", "0.250", "2.50 ×", "faster"),
        *("1.00 ×", "–", "0.500", ""),
    )
    assert found["pCSR/baseline", "1"][:2] == ("baseline", "1.00 ×")
    assert found["pCSR/baseline", "1"][5:7] == ("–", "–")
    assert found["pCSR/p*", "8"] == ("skipped", *("–",) * 9, "needs 41 GB")


def test_ours_is_held_against_the_same_with_a_librarys_product() -> None:
    heads = [(head.text, head.unit) for head in only(*resident(), *by_cusparse(resident(), 1.3)).table.heads]
    # Label and devices are not among the cells.
    place = heads.index(("speedup", "vs library")) - 2
    found = rows(*resident(), *by_cusparse(resident(), 1.3))
    assert found["pCSR/resident", "4"][place : place + 2] == ("1.30 ×", "faster")
    assert found["pCSR/resident, cusparse", "4"][place : place + 2] == ("–", "–")
    assert "vs library" not in [head.unit for head in only(*resident()).table.heads]


def test_a_library_is_held_against_its_own_baseline() -> None:
    theirs = [m for m in by_cusparse(cold(), 1.5) if m.kernel != "pCSR/p*"]
    found = rows(*cold(), *theirs)
    assert found["pCSR/p*-opt, cusparse", "4"][5:7] == ("2.50 ×", "faster")
    assert found["pCSR/baseline, cusparse", "4"][5:7] == ("–", "–")
    without = rows(*cold(), *theirs[3:])
    assert without["pCSR/p*-opt, cusparse", "4"][5:7] == ("–", "–")
    assert without["pCSR/p*-opt", "4"][5:7] == ("2.50 ×", "faster")


def test_without_one_device_there_is_no_verdict() -> None:
    found = rows(worked("pCSR/p*", 1.0))["pCSR/p*", "4"]
    assert (found[:2], found[5:7]) == (("inconclusive", "–"), ("–", "–"))


def test_an_iteration_says_what_it_exchanges() -> None:
    found = rows(*iterated())
    assert (found["pCSR/iterate, overlap on", "4"][:2], found["pCSR/iterate, overlap on", "4"][5:7]) == (
        ("faster", "3.20 ×"),
        ("4.00 MB", "1.00 ×"),
    )
    assert found["pCSR/iterate, overlap off", "1"][5] == "none"
    assert rows(*ranked())["pCSR/pagerank+cpms2", "4"][5:7] == ("400 kB", "100")


def test_every_work_has_a_finding_of_its_own_with_a_cell_under_every_head() -> None:
    found = findings(shown(*shared(device="cpu")))
    assert [(f.title, f.axes["workload"], {row.measurement.kernel for row in f.rows}) for f in found] == [
        ("web_graph, from the host", "cold", {"pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"}),
        ("web_graph, resident", "resident", {"pCSR/resident"}),
        ("web_graph, iterated", "iterate", {"pCSR/iterate"}),
        ("web_graph, PageRank", "pagerank", {"pCSR/pagerank+fp64", "pCSR/pagerank+cpms2"}),
    ]
    for finding in found:
        assert {len(row) for row in finding.table.rows} == {len(finding.table.heads)}
        assert {row[-1] for row in finding.table.rows} == {NOTE}


def test_the_leaders_are_of_the_partitioning_that_took_least_with_the_devices_spoken_of() -> None:
    slower = [replace(m, median_s=2 * (m.median_s or 0.0)) for m in cold(partitioning="pCOO")]
    for devices, seconds in ((0, 0.032), (2, 0.055)):
        (finding,) = findings(shown(*slower, *cold(), chosen=chosen(devices)))
        assert (finding.leaders, finding.decided) == (("pCSR/p*-opt",), True)
        assert [row.measurement.median_s for row in finding.rows if row.leads] == [pytest.approx(seconds)]
    nothing = only(unworked("pCSR/p*", "needs 41 GB"))
    assert (nothing.leaders, nothing.decided, [row.word for row in nothing.rows]) == ((), False, ["skipped"])
