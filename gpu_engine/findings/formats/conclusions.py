"""Conclusions of the PELLR paper (Figures 6 and 8 to 12), checked against the measurements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from gpu_engine.findings.conclusions import ABOUT, Conclusion, Statement, Trial, conclude, table_of
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.formats.groups import group_by_facet, of_matrices
from gpu_engine.findings.formats.iterations import Place, iterations_saved, resident_warps
from gpu_engine.findings.formats.paper import FIGURE_11, FIGURE_12, PAPER_RATIOS, fastest_by_name
from gpu_engine.findings.ranking import rank
from gpu_engine.matrices.pellr_counts import WARP
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from gpu_engine.verdicts.verdict import compare, verdict_text

MOST = 1.35
"""Largest speedup accepted for `at most 1.3`, with a margin for rounding."""

SMALL = 1.1
"""Factor up to which a speedup is not obvious, and up to which a sort saves few iterations."""

LONG = 10.0
"""Longest row / mean row from which a matrix has a long row."""

Judge = Callable[["Formats", StudyData], Trial | None]
"""Function that checks a statement on one matrix."""


@dataclass(frozen=True, slots=True)
class Formats:
    """Fastest kernels of the paper's formats on a matrix, by the paper's names."""

    matrix: MatrixFeatures
    fastest: dict[str, Measurement]

    @property
    def name(self) -> str:
        """Name of the matrix; for a synthetic stand-in such as `memplus (stand-in)`, the name of the original."""
        return self.matrix.name.partition(" (")[0]

    def is_rougher(self, sigma: float, ave: float = -1.0, max_min: float = -1.0) -> bool:
        """Return whether σ, the mean row length, and max − min are all known and above these values."""
        least = (self.matrix.sigma, sigma), (self.matrix.ave, ave), (self.matrix.max_min, max_min)
        return all(value is not None and value > bound for value, bound in least)

    def is_smoother(self, sigma: float) -> bool:
        """Return whether σ is known and below this value."""
        return self.matrix.sigma is not None and self.matrix.sigma < sigma


def conclusions(data: StudyData) -> list[Conclusion]:
    """Return the conclusion of each statement per device and cache state, from the fastest kernel of each format.

    Devices and cache states without a timing of PELLR are left out.
    """
    places: dict[Place, list[tuple[str, Formats]]] = {}
    for (matrix_id, device, cache), group in group_by_facet(of_matrices(data.measurements)).items():
        fastest, matrix = fastest_by_name(group), data.matrix(matrix_id)
        if fastest:
            places.setdefault((device, cache), []).append((matrix.name, Formats(matrix, fastest)))
    with_pellr = {place: of for place, of in places.items() if any("PELLR" in formats.fastest for _, formats in of)}
    return conclude(STATEMENTS, with_pellr, data)


def table(data: StudyData) -> Table:
    """Return a table with one row per statement, device, and cache state."""
    return table_of(conclusions(data))


def _pellr_over(
    rival: str,
    least: float | None = None,
    most: float | None = None,
    about: Callable[[Formats], bool] = lambda _: True,
) -> Judge:
    """Return a function that checks the speedup of PELLR over a rival: about `least`, at most `most`, or faster.

    about  selects the matrices that the statement covers
    """

    def judge(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
        pellr, other = formats.fastest.get("PELLR"), formats.fastest.get(rival)
        verdict = compare(other, pellr) if pellr and other and about(formats) else None
        if verdict is None or verdict.ratio is None:
            return None
        number = f"{units.ratio(verdict.ratio)} ({verdict_text(verdict.kind)})"
        if most is not None:
            return Trial(verdict.ratio <= most, number, verdict.ratio)
        holds = verdict.kind == "faster" if least is None else verdict.ratio >= ABOUT * least
        return Trial(holds, number, verdict.ratio, "" if holds else _why_not(formats, rival))

    return judge


def _why_not(formats: Formats, rival: str) -> str:
    """Return why PELLR may gain less than in the paper, from the features of the matrix and the size of the GPU."""
    known = formats.matrix.stored
    if rival != "ELLR":
        if known.get("max", 0) > LONG * max(known.get("ave", 0.0), 1.0):
            return "one thread processes a row longer than ten times the mean"
        return "this HYB is not cuSPARSE's" if rival == "HYB" else ""
    saved, resident = iterations_saved(formats.matrix), resident_warps(formats.fastest["PELLR"])
    if saved is not None and saved <= SMALL:
        return "sorting saves at most 10 % of n_iter"
    if resident and formats.matrix.n_rows <= WARP * resident:
        return "all warps run at once and wait for the longest row"
    return "PELLR accesses x and y in a different order"


def _slower_on_memplus(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
    pellr, *others = (formats.fastest.get(name) for name in ("PELLR", "HYB", "BiELL"))
    if formats.name != "memplus" or pellr is None or not all(others):
        return None
    holds = all(other and compare(other, pellr).kind == "slower" for other in others)
    return Trial(holds, " and ".join(units.ratio(gain(other, pellr)) for other in others))


def _leaders(formats: Formats, among: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the fastest or tied formats (none if the timings are noisy), and all timed ones, the fastest first."""
    names = {m.case: name for name, m in formats.fastest.items() if name in among}
    ranking = rank(m for m in formats.fastest.values() if m.case in names)
    return [names[m.case] for m in ranking.leaders], [names[m.case] for m in ranking.measurements]


def _hyb_alone_on_memplus(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
    leaders, timed = _leaders(formats, FIGURE_11)
    if not leaders or "HYB" not in timed or len(timed) < 2:
        return None
    return Trial((leaders == ["HYB"]) == (formats.name == "memplus"), f"{timed[0]} ahead of {timed[1]}")


def _leads(*chosen: str) -> Judge:
    """Return a function that checks whether one of these is fastest or tied in Figure 12."""

    def judge(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
        leaders, timed = _leaders(formats, FIGURE_12)
        if not leaders or len(timed) < 2 or not any(name in timed for name in chosen):
            return None
        best, best_chosen = (
            formats.fastest[name] for name in (timed[0], next(name for name in timed if name in chosen))
        )
        return Trial(any(name in chosen for name in leaders), f"{units.ratio(gain(best, best_chosen))} {timed[0]}")

    return judge


def _csrv_after_cucsr(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
    csrv, other = formats.fastest.get("CSRV"), formats.fastest.get("cuCSR")
    if csrv is None or other is None:
        return None
    verdict = compare(other, csrv)
    return Trial(
        verdict.kind == "slower", f"{units.ratio(verdict.ratio)} ({verdict_text(verdict.kind)})", verdict.ratio
    )


def _csrv_on_long_rows(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
    times = {name: formats.fastest[name].median_s or 0.0 for name in FIGURE_12 if name in formats.fastest}
    if "CSRV" not in times or len(times) < 3 or not formats.is_rougher(-1.0, ave=16.0):
        return None
    rank_ = sorted(times, key=times.__getitem__).index("CSRV") + 1
    return Trial(times["CSRV"] <= median(times.values()), f"rank {rank_} of {len(times)}")


STATEMENTS: tuple[Statement[Formats], ...] = (
    Statement(
        "PELLR is faster than ELLR for all matrices.",
        "matrix",
        _pellr_over("ELLR"),
        source="Figure 6",
    ),
    Statement(
        "PELLR is about 1.5× as fast as ELLR if σ > 10, ave > 20 and max − min > 10.",
        "such matrix",
        _pellr_over("ELLR", least=1.5, about=lambda formats: formats.is_rougher(10.0, 20.0, 10.0)),
        mostly=True,
        source="Figure 6",
    ),
    Statement(
        "PELLR has no obvious advantage over ELLR if σ < 3 (here: at most 10 %).",
        "such matrix",
        _pellr_over("ELLR", most=SMALL, about=lambda formats: formats.is_smoother(3.0)),
        source="Figure 6",
    ),
    Statement(
        f"PELLR is {PAPER_RATIOS['lnsp3937']}× as fast as ELLR on lnsp3937.",
        "lnsp3937",
        _pellr_over("ELLR", least=PAPER_RATIOS["lnsp3937"], about=lambda formats: formats.name == "lnsp3937"),
        source="Figure 6",
    ),
    Statement(
        "PELLR is about 4× as fast as HYB if σ < 10.",
        "such matrix",
        _pellr_over("HYB", least=4.0, about=lambda formats: formats.is_smoother(10.0)),
        mostly=True,
        source="Figure 8",
    ),
    Statement(
        "PELLR is about 1.6× as fast as HYB if σ > 10.",
        "such matrix",
        _pellr_over("HYB", least=1.6, about=lambda formats: formats.is_rougher(10.0)),
        mostly=True,
        source="Figure 8",
    ),
    Statement(
        "On memplus, HYB (0.7) and BiELL (0.82) are faster than PELLR.",
        "memplus",
        _slower_on_memplus,
        source="Figure 8",
    ),
    Statement(
        "PELLR is faster than BiELL in most cases (17 of 20).",
        "matrix",
        _pellr_over("BiELL"),
        True,
        source="Figure 9",
    ),
    Statement(
        "PELLR is faster than BiJAD in most cases (15 of 20).",
        "matrix",
        _pellr_over("BiJAD"),
        True,
        source="Figure 10",
    ),
    Statement(
        "PELLR is at most 1.3× as fast as BiJAD.",
        "matrix",
        _pellr_over("BiJAD", most=MOST),
        source="Figure 10",
    ),
    Statement(
        "HYB is the best of PELLR, HYB, BiELL, and BiJAD only on memplus (Figure 11).",
        "matrix",
        _hyb_alone_on_memplus,
    ),
    Statement("PELLR is the best of Figure 12 in most cases.", "matrix", _leads("PELLR"), True),
    Statement("PELLR or JAD is the best of Figure 12 on almost every matrix.", "matrix", _leads("PELLR", "JAD"), True),
    Statement(
        "CSRV is slower than cuCSR in most cases.",
        "matrix",
        _csrv_after_cucsr,
        True,
        source="Figure 12",
    ),
    Statement(
        "CSRV performs well if ave > 16 (here: in the faster half of Figure 12).",
        "such matrix",
        _csrv_on_long_rows,
        True,
    ),
)
"""Statements of §4 of the paper, measured there on a Quadro P600."""
