"""Conclusions of the PELLR paper (Figures 6 and 8 to 12), checked against the measurements."""

from gpu_engine.findings.conclusions import Conclusion, Statement, conclude, table_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.groups import group_by_facet, of_matrices
from gpu_engine.findings.formats.iterations import Place
from gpu_engine.findings.formats.judges import (
    Covers,
    Formats,
    all_faster_than_hyb,
    hyb_leads_only_on_memplus,
    in_faster_half,
    in_slower_half,
    keeps,
    leads,
    less_over_hyb_than_if_smooth,
    nearest_to_bijad,
    reaches,
    rounds_to_print,
    verdict_is,
)
from gpu_engine.findings.formats.paper import MAX_MIN, ROW_LENGTHS, SPEEDUPS, fastest_by_name
from gpu_engine.findings.printed import Printed
from gpu_engine.records import CACHES
from gpu_engine.text.tables import Table

RANGE = f"Here: max − min up to {MAX_MIN:,}; {ROW_LENGTHS['memplus']['max_min']} in the paper."
"""Range of a statement on large σ: other matrices have rows that are far longer than those of the paper."""


def conclusions(data: StudyData) -> list[Conclusion]:
    """Return the conclusions of each statement per device and cache state, from the fastest kernel of each format.

    Warm comes first. Devices and cache states without a timing of PELLR are left out.
    """
    places: dict[Place, list[tuple[str, Formats]]] = {}
    for (matrix_id, device, cache), group in group_by_facet(of_matrices(data.measurements)).items():
        fastest, matrix = fastest_by_name(group), data.matrix(matrix_id)
        if fastest:
            places.setdefault((device, cache), []).append((matrix.name, Formats(matrix, fastest)))
    with_pellr = {
        place: places[place]
        for place in sorted(places, key=lambda place: CACHES.index(place[1]), reverse=True)
        if any("PELLR" in formats.fastest for _, formats in places[place])
    }
    return conclude(STATEMENTS, with_pellr, data, lambda formats: bool(formats.original))


def table(data: StudyData) -> Table:
    """Return a table with one row per statement, scope, device, and cache state."""
    return table_of(conclusions(data))


def _on(*matrices: str) -> Covers:
    return lambda formats: formats.original in matrices


def _without_printed_speedup(formats: Formats) -> bool:
    """Return whether σ > 10, and the text prints no speedup over HYB for the matrix alone."""
    return formats.is_rougher(10.0) and formats.original not in SPEEDUPS["HYB"]


STATEMENTS: tuple[Statement[Formats], ...] = (
    Statement("PELLR is faster than ELLR for all matrices.", "matrix", verdict_is("faster", "ELLR"), source="Figure 6"),
    Statement(
        f"PELLR is about 1.5\u202f× as fast as ELLR if σ > 10, ave > 20, and max − min > 10. {RANGE}",
        "such matrix",
        reaches(Printed("1.5"), "ELLR", lambda formats: formats.is_rougher(10.0, 20.0, 10.0)),
        mostly=True,
        source="Figure 6",
    ),
    Statement(
        "PELLR has no obvious advantage over ELLR if σ < 3 (here: at most the 1.1\u202f× of memplus).",
        "such matrix",
        keeps(SPEEDUPS["ELLR"]["memplus"], "ELLR", lambda formats: formats.is_smoother(3.0)),
        source="Figure 6",
    ),
    Statement(
        "PELLR is 4.5\u202f× as fast as ELLR on lnsp3937.",
        "lnsp3937",
        rounds_to_print("ELLR", "lnsp3937"),
        source="Figure 6",
    ),
    Statement(
        "PELLR is 1.1\u202f× as fast as ELLR on memplus.",
        "memplus",
        rounds_to_print("ELLR", "memplus"),
        source="Figure 6",
    ),
    Statement(
        "PELLR is about 4\u202f× as fast as HYB if σ < 10.",
        "such matrix",
        reaches(Printed("4"), "HYB", lambda formats: formats.is_smoother(10.0)),
        mostly=True,
        source="Figure 8",
    ),
    Statement(
        "PELLR is 1.2\u202f× as fast as HYB on msc23052 and bcsstk36.",
        "such matrix",
        rounds_to_print("HYB", "msc23052", "bcsstk36"),
        source="Figure 8",
    ),
    Statement(
        "PELLR is slower than HYB on memplus.",
        "memplus",
        verdict_is("slower", "HYB", _on("memplus")),
        source="Figure 8",
    ),
    Statement(
        "PELLR is 0.7\u202f× as fast as HYB on memplus.",
        "memplus",
        rounds_to_print("HYB", "memplus"),
        source="Figure 8",
    ),
    Statement(
        f"PELLR is about 1.6\u202f× as fast as HYB on the other matrices with σ > 10. {RANGE}",
        "such matrix",
        reaches(Printed("1.6"), "HYB", _without_printed_speedup),
        mostly=True,
        source="Figure 8",
    ),
    Statement(
        f"The speedup of PELLR over HYB decreases with σ. Here: below the mean of σ < 10 if σ > 10 and max − min ≤ "
        f"{MAX_MIN:,}.",
        "such matrix",
        less_over_hyb_than_if_smooth(10.0),
        mostly=True,
        source="Figure 8",
    ),
    Statement(
        "PELLR is faster than BiELL in most cases (17 of 20).",
        "matrix",
        verdict_is("faster", "BiELL"),
        True,
        source="Figure 9",
    ),
    Statement(
        "PELLR is faster than BiELL on lnsp3937 and mhd4800b.",
        "such matrix",
        verdict_is("faster", "BiELL", _on("lnsp3937", "mhd4800b")),
        source="Figure 9",
    ),
    Statement(
        "PELLR is slower than BiELL on memplus.",
        "memplus",
        verdict_is("slower", "BiELL", _on("memplus")),
        source="Figure 9",
    ),
    Statement(
        "PELLR is 0.8172\u202f× as fast as BiELL on memplus.",
        "memplus",
        rounds_to_print("BiELL", "memplus"),
        source="Figure 9",
    ),
    Statement(
        "PELLR is faster than BiJAD in most cases (15 of 20).",
        "matrix",
        verdict_is("faster", "BiJAD"),
        True,
        source="Figure 10",
    ),
    Statement(
        "PELLR is at most 1.3\u202f× as fast as BiJAD.", "matrix", keeps(Printed("1.3"), "BiJAD"), source="Figure 10"
    ),
    Statement(
        "BiJAD is the nearest to PELLR (here: of HYB, BiELL, and BiJAD).",
        "matrix",
        nearest_to_bijad,
        mostly=True,
        source="Figure 10",
    ),
    Statement(
        "PELLR, BiELL, and BiJAD are faster than HYB in most cases.",
        "matrix",
        all_faster_than_hyb,
        True,
        source="Figure 11",
    ),
    Statement(
        "HYB is the best of PELLR, HYB, BiELL, and BiJAD only on memplus (Figure 11).",
        "matrix",
        hyb_leads_only_on_memplus,
    ),
    Statement("PELLR is the best of Figure 12 in most cases.", "matrix", leads("PELLR"), True),
    Statement("PELLR or JAD is the best of Figure 12 on almost every matrix.", "matrix", leads("PELLR", "JAD"), True),
    Statement(
        "JAD and ELLR perform well (here: both in the faster half of Figure 12).",
        "matrix",
        in_faster_half("JAD", "ELLR"),
        True,
    ),
    Statement(
        "CSRV is relatively poor (here: in the slower half of Figure 12).", "matrix", in_slower_half("CSRV"), True
    ),
    Statement(
        "CSRV performs well if ave > 16 (here: in the faster half of Figure 12).",
        "such matrix",
        in_faster_half("CSRV", covers=lambda formats: formats.matrix.ave is not None and formats.matrix.ave > 16.0),
        True,
    ),
    Statement(
        "CSRV is slower than cuCSR in most cases.",
        "matrix",
        verdict_is("slower", "cuCSR", of="CSRV"),
        True,
        source="Figure 12",
    ),
    Statement(
        "HYB performs well on bcsstk36 and msc23052 (here: in the faster half of Figure 12).",
        "such matrix",
        in_faster_half("HYB", covers=_on("bcsstk36", "msc23052")),
    ),
    Statement(
        "HYB is the best of Figure 12 on memplus.",
        "memplus",
        leads("HYB", covers=_on("memplus")),
    ),
)
"""Statements of §4 of the paper, measured there on a Quadro P600."""
