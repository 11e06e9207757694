from tests.web.scaling_samples import (
    NOTE,
    by_cusparse,
    cold,
    iterated,
    ranked,
    resident,
    shared,
    shown,
    unworked,
    worked,
)
from web.figures.scaling.tables import cases
from web.scaling_cases import WORKS
from web.shown import Shown
from web.units import THIN


def rows(found: Shown, work: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """What follows the number of devices, by kernel and number of devices."""
    return {(row[2], row[3]): tuple(cell.replace(THIN, " ") for cell in row[4:]) for row in cases(found, work).rows}


def test_a_product_from_the_host_is_held_against_one_device_and_the_baseline() -> None:
    found = rows(shown(*cold(), unworked("pCSR/p*", "needs 41 GB", 8)), "cold")
    assert found["pCSR/p*-opt", "4"] == (
        *("32.0 ms", "31.7 ms – 32.3 ms", "0.250", "3.12 ×", "faster", "2.50 ×", "faster"),
        *("1.00 ×", "–", "0.500", ""),
    )
    assert found["pCSR/baseline", "1"][3:7] == ("1.00 ×", "one device", "–", "–")
    assert found["pCSR/p*", "8"] == (*("–",) * 4, "skipped", *("–",) * 5, "needs 41 GB")


def test_ours_is_held_against_the_same_with_a_librarys_product() -> None:
    table = cases(shown(*resident(), *by_cusparse(resident(), 1.3)), "resident")
    place = [(head.text, head.unit) for head in table.heads].index(("against", "a library's"))
    found = {(row[2], row[3]): tuple(cell.replace(THIN, " ") for cell in row[place : place + 2]) for row in table.rows}
    assert found["pCSR/resident", "4"] == ("1.30 ×", "faster")
    assert found["pCSR/resident, product cusparse", "4"] == ("–", "–")
    assert "a library's" not in [head.unit for head in cases(shown(*resident()), "resident").heads]


def test_a_library_is_held_against_its_own_baseline() -> None:
    theirs = [m for m in by_cusparse(cold(), 1.5) if m.kernel != "pCSR/p*"]
    found = rows(shown(*cold(), *theirs), "cold")
    assert found["pCSR/p*-opt, product cusparse", "4"][5:7] == ("2.50 ×", "faster")
    assert found["pCSR/baseline, product cusparse", "4"][5:7] == ("–", "–")
    without = rows(shown(*cold(), *theirs[3:]), "cold")
    assert without["pCSR/p*-opt, product cusparse", "4"][5:7] == ("–", "–")
    assert without["pCSR/p*-opt", "4"][5:7] == ("2.50 ×", "faster")


def test_without_one_device_there_is_no_verdict() -> None:
    assert rows(shown(worked("pCSR/p*", 1.0)), "cold")["pCSR/p*", "4"][3:7] == ("–", "–", "–", "–")


def test_an_iteration_says_what_it_exchanges() -> None:
    found = rows(shown(*iterated()), "iterate")
    assert found["pCSR/iterate, overlap on", "4"][3:7] == ("3.20 ×", "faster", "4.00 MB", "1.00 ×")
    assert found["pCSR/iterate, overlap off", "1"][5] == "none"
    assert rows(shown(*ranked()), "pagerank")["pCSR/pagerank+cpms2", "4"][5:7] == ("400 kB", "100")


def test_works_have_tables_of_their_own_with_a_cell_under_every_head() -> None:
    found = shown(*shared(device="cpu"))
    kernels = {work: {row[2].partition(",")[0] for row in cases(found, work).rows} for work in WORKS}
    assert kernels == {
        "cold": {"pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"},
        "resident": {"pCSR/resident"},
        "iterate": {"pCSR/iterate"},
        "pagerank": {"pCSR/pagerank+fp64", "pCSR/pagerank+cpms2"},
    }
    for work in WORKS:
        table = cases(found, work)
        assert {len(row) for row in table.rows} == {len(table.heads)}
        assert {(row[1], row[-1]) for row in table.rows} == {("cpu (virtual)", NOTE)}
    assert cases(shown(*resident()), "cold").rows == ()
