"""The PELLR paper's conclusions beside what the products of the shown matrices say of them; Figures 6 and 8 to 12."""

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
from gpu_engine.matrices.warps import WARP
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from gpu_engine.verdicts.verdict import compare

MOST = 1.35
"""What rounds to 1.3 at most."""

SMALL = 1.1
"""An advantage up to this factor is not an obvious one, and a sort that saves no more iterations saves few."""

LONG = 10.0
"""A row so many times as long as the mean is a long one."""

Judge = Callable[["Formats", StudyData], Trial | None]


@dataclass(frozen=True, slots=True)
class Formats:
    """The fastest kernels of the paper's formats on a matrix, by the paper's names."""

    matrix: MatrixFeatures
    fastest: dict[str, Measurement]

    @property
    def name(self) -> str:
        """That of the matrix, or of the one that it stands in for: `memplus (stand-in)`."""
        return self.matrix.name.partition(" (")[0]

    def is_rougher(self, sigma: float, ave: float = -1.0, max_min: float = -1.0) -> bool:
        """Whether σ, the mean row and max − min are all above these."""
        least = (self.matrix.sigma, sigma), (self.matrix.ave, ave), (self.matrix.max_min, max_min)
        return all(value is not None and value > bound for value, bound in least)

    def is_smoother(self, sigma: float) -> bool:
        """Whether σ is below that."""
        return self.matrix.sigma is not None and self.matrix.sigma < sigma


def conclusions(data: StudyData) -> list[Conclusion]:
    """Every statement of the paper on each device and cache state, of the fastest kernel of each of its formats.

    Where PELLR has no time at all there is nothing to say.
    """
    places: dict[Place, list[tuple[str, Formats]]] = {}
    for (matrix_id, device, cache), group in group_by_facet(of_matrices(data.measurements)).items():
        fastest, matrix = fastest_by_name(group), data.matrix(matrix_id)
        if fastest:
            places.setdefault((device, cache), []).append((matrix.name, Formats(matrix, fastest)))
    judged = {place: of for place, of in places.items() if any("PELLR" in formats.fastest for _, formats in of)}
    return conclude(STATEMENTS, judged, data)


def table(data: StudyData) -> Table:
    """A row a statement, device and cache state."""
    return table_of(conclusions(data))


def _pellr_over(
    rival: str,
    least: float | None = None,
    most: float | None = None,
    about: Callable[[Formats], bool] = lambda _: True,
) -> Judge:
    """Judges by how many times as fast as a rival PELLR is: about `least`, at most `most`, or just faster.

    about  which matrices the statement is about
    """

    def judge(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
        own, other = formats.fastest.get("PELLR"), formats.fastest.get(rival)
        verdict = compare(other, own) if own and other and about(formats) else None
        if verdict is None or verdict.ratio is None:
            return None
        number = f"{units.ratio(verdict.ratio)} ({verdict.kind})"
        if most is not None:
            return Trial(verdict.ratio <= most, number, verdict.ratio)
        holds = verdict.kind == "faster" if least is None else verdict.ratio >= ABOUT * least
        return Trial(holds, number, verdict.ratio, "" if holds else _why_not(formats, rival))

    return judge


def _why_not(formats: Formats, rival: str) -> str:
    """Why PELLR may gain less than the paper says, from the features of the matrix and the size of the GPU."""
    known = formats.matrix.stored
    if rival != "ELLR":
        if known.get("max", 0) > LONG * max(known.get("ave", 0.0), 1.0):
            return "one thread walks a row of over ten times the mean"
        return "this HYB is not cuSPARSE's" if rival == "HYB" else ""
    saved, resident = iterations_saved(formats.matrix), resident_warps(formats.fastest["PELLR"])
    if saved is not None and saved <= SMALL:
        return "the sort saves at most a tenth of n_iter"
    if resident and formats.matrix.n_rows <= WARP * resident:
        return "all warps run at once and wait for the longest row"
    return "PELLR reaches x and y in another order"


def _slower_on_memplus(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
    own, *others = (formats.fastest.get(name) for name in ("PELLR", "HYB", "BiELL"))
    if formats.name != "memplus" or own is None or not all(others):
        return None
    holds = all(other and compare(other, own).kind == "slower" for other in others)
    return Trial(holds, " and ".join(units.ratio(gain(other, own)) for other in others))


def _leaders(formats: Formats, among: Sequence[str]) -> tuple[list[str], list[str]]:
    """(those of the formats that lead, all with a time from the fastest on); nothing leads on a busy machine."""
    named = {m.case: name for name, m in formats.fastest.items() if name in among}
    ranking = rank(m for m in formats.fastest.values() if m.case in named)
    return [named[m.case] for m in ranking.leaders], [named[m.case] for m in ranking.measurements]


def _hyb_alone_on_memplus(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
    leaders, timed = _leaders(formats, FIGURE_11)
    if not leaders or "HYB" not in timed or len(timed) < 2:
        return None
    return Trial((leaders == ["HYB"]) == (formats.name == "memplus"), f"{timed[0]} before {timed[1]}")


def _leads(*wanted: str) -> Judge:
    """Whether one of these is the best of Figure 12, or the same as the best."""

    def judge(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
        leaders, timed = _leaders(formats, FIGURE_12)
        if not leaders or len(timed) < 2 or not any(name in timed for name in wanted):
            return None
        best, own = (formats.fastest[name] for name in (timed[0], next(name for name in timed if name in wanted)))
        return Trial(any(name in wanted for name in leaders), f"{units.ratio(gain(best, own))} {timed[0]}")

    return judge


def _csrv_after_cucsr(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
    own, other = formats.fastest.get("CSRV"), formats.fastest.get("cuCSR")
    if own is None or other is None:
        return None
    verdict = compare(other, own)
    return Trial(verdict.kind == "slower", f"{units.ratio(verdict.ratio)} ({verdict.kind})", verdict.ratio)


def _csrv_on_long_rows(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
    times = {name: formats.fastest[name].median_s or 0.0 for name in FIGURE_12 if name in formats.fastest}
    if "CSRV" not in times or len(times) < 3 or not formats.is_rougher(-1.0, ave=16.0):
        return None
    place = sorted(times, key=times.__getitem__).index("CSRV") + 1
    return Trial(times["CSRV"] <= median(times.values()), f"place {place} of {len(times)}")


STATEMENTS: tuple[Statement[Formats], ...] = (
    Statement(
        "PELLR is faster than ELLR for all matrices.",
        "matrix",
        _pellr_over("ELLR"),
        source="Figure 6",
    ),
    Statement(
        "PELLR is about 1.5 times as fast as ELLR where σ > 10, ave > 20 and max − min > 10.",
        "such matrix",
        _pellr_over("ELLR", least=1.5, about=lambda formats: formats.is_rougher(10.0, 20.0, 10.0)),
        mostly=True,
        source="Figure 6",
    ),
    Statement(
        "PELLR has no obvious advantage over ELLR where σ < 3 (here: at most a tenth).",
        "such matrix",
        _pellr_over("ELLR", most=SMALL, about=lambda formats: formats.is_smoother(3.0)),
        source="Figure 6",
    ),
    Statement(
        f"PELLR is {PAPER_RATIOS['lnsp3937']} times as fast as ELLR on lnsp3937.",
        "lnsp3937",
        _pellr_over("ELLR", least=PAPER_RATIOS["lnsp3937"], about=lambda formats: formats.name == "lnsp3937"),
        source="Figure 6",
    ),
    Statement(
        "PELLR is about 4 times as fast as HYB where σ < 10.",
        "such matrix",
        _pellr_over("HYB", least=4.0, about=lambda formats: formats.is_smoother(10.0)),
        mostly=True,
        source="Figure 8",
    ),
    Statement(
        "PELLR is about 1.6 times as fast as HYB where σ > 10.",
        "such matrix",
        _pellr_over("HYB", least=1.6, about=lambda formats: formats.is_rougher(10.0)),
        mostly=True,
        source="Figure 8",
    ),
    Statement(
        "On memplus HYB (0.7) and BiELL (0.82) are faster than PELLR.",
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
        "PELLR is at most 1.3 times as fast as BiJAD.",
        "matrix",
        _pellr_over("BiJAD", most=MOST),
        source="Figure 10",
    ),
    Statement(
        "HYB is the best of PELLR, HYB, BiELL and BiJAD on memplus alone (Figure 11).",
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
        "CSRV performs well where ave > 16 (here: among the faster half of Figure 12).",
        "such matrix",
        _csrv_on_long_rows,
        True,
    ),
)
"""As §4 of the paper has them, on a Quadro P600."""
