"""Judges of the PELLR paper: functions that check a statement on the fastest kernels of its formats on one matrix."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import log
from statistics import geometric_mean, median

from gpu_engine.findings.conclusions import Trial
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.formats.groups import group_by_facet, of_matrices
from gpu_engine.findings.formats.iterations import iterations_saved, resident_warps
from gpu_engine.findings.formats.paper import FIGURE_11, FIGURE_12, MAX_MIN, SPEEDUPS, fastest_by_name, original
from gpu_engine.findings.printed import Printed
from gpu_engine.findings.ranking import rank
from gpu_engine.matrices.pellr_counts import WARP
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import Verdict, VerdictKind, compare, verdict_text

FEW_SAVED = 1.1
"""Ratio of n_iter up to which a sort saves few iterations."""

LONG = 10.0
"""Longest row / mean row from which a matrix has a long row."""


@dataclass(frozen=True, slots=True)
class Formats:
    """Fastest kernels of the paper's formats on a matrix, by the paper's names."""

    matrix: MatrixFeatures
    fastest: dict[str, Measurement]

    @property
    def original(self) -> str:
        """The paper's name of the matrix or of the one that it stands for; empty for any other matrix."""
        return original(self.matrix.name)

    def is_rougher(self, sigma: float, ave: float = -1.0, max_min: float = -1.0) -> bool:
        """Return whether σ, the mean row length, and max − min are all known and above these values.

        Matrices whose max − min exceeds MAX_MIN are out of the range of the paper, and not rougher.
        """
        least = (self.matrix.sigma, sigma), (self.matrix.ave, ave), (self.matrix.max_min, max_min)
        in_range = self.matrix.max_min is not None and self.matrix.max_min <= MAX_MIN
        return in_range and all(value is not None and value > bound for value, bound in least)

    def is_smoother(self, sigma: float) -> bool:
        """Return whether σ is known and below this value."""
        return self.matrix.sigma is not None and self.matrix.sigma < sigma


Judge = Callable[[Formats, StudyData], Trial | None]
"""Function that checks a statement on one matrix; None if the statement does not cover it, or times are missing."""

Covers = Callable[[Formats], bool]
"""Function that returns whether a statement covers a matrix."""


def everywhere(formats: Formats) -> bool:  # noqa: ARG001
    """Return that a statement covers any matrix."""
    return True


def verdict_is(kind: VerdictKind, rival: str, covers: Covers = everywhere, of: str = "PELLR") -> Judge:
    """Return a judge of the verdict on PELLR, or another format, against a rival."""

    def judge(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
        verdict = _verdict(formats, of, rival) if covers(formats) else None
        if verdict is None:
            return None
        holds = verdict.kind == kind
        reason = _why_not(formats, rival) if not holds and (of, kind) == ("PELLR", "faster") else ""
        return Trial(holds, _with_kind(verdict), verdict.ratio, reason)

    return judge


def reaches(printed: Printed, rival: str, covers: Covers) -> Judge:
    """Return a judge of `about 1.5 times as fast`: holds for the printed speedup over a rival, and for a larger one."""

    def judge(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
        verdict = _verdict(formats, "PELLR", rival) if covers(formats) else None
        if verdict is None or verdict.ratio is None:
            return None
        holds = printed.is_reached(verdict.ratio)
        reason = "" if holds else _why_not(formats, rival)
        return Trial(holds, _with_kind(verdict), verdict.ratio, reason, printed.reached_text())

    return judge


def keeps(printed: Printed, rival: str, covers: Covers = everywhere) -> Judge:
    """Return a judge of `at most 1.3 times as fast`."""

    def judge(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
        verdict = _verdict(formats, "PELLR", rival) if covers(formats) else None
        if verdict is None or verdict.ratio is None:
            return None
        return Trial(printed.is_kept(verdict.ratio), _with_kind(verdict), verdict.ratio, accepts=printed.kept_text())

    return judge


def rounds_to_print(rival: str, *matrices: str) -> Judge:
    """Return a judge of the speedups over a rival that the text prints for these matrices."""

    def judge(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
        verdict = _verdict(formats, "PELLR", rival) if formats.original in matrices else None
        if verdict is None or verdict.ratio is None:
            return None
        printed = SPEEDUPS[rival][formats.original]
        return Trial(printed.holds(verdict.ratio), _with_kind(verdict), verdict.ratio, accepts=printed.range_text())

    return judge


def all_faster_than_hyb(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether PELLR, BiELL, and BiJAD are each faster than HYB."""
    others = [name for name in FIGURE_11 if name != "HYB"]
    verdicts = {name: verdict for name in others if (verdict := _verdict(formats, name, "HYB"))}
    if len(verdicts) < len(others):
        return None
    slower = [f"{name} {units.ratio(v.ratio)}" for name, v in verdicts.items() if v.kind != "faster"]
    return Trial(not slower, ", ".join(slower) or "all")


def nearest_to_bijad(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether the speedup of PELLR over BiJAD is nearer to 1 than those over HYB and BiELL."""
    rivals = [name for name in FIGURE_11 if name != "PELLR"]
    verdicts = {name: verdict for name in rivals if (verdict := _verdict(formats, "PELLR", name))}
    ratios = {name: verdict.ratio for name, verdict in verdicts.items() if verdict.ratio}
    if len(ratios) < len(rivals):
        return None
    nearest = min(ratios, key=lambda name: abs(log(ratios[name])))
    numbers = dict.fromkeys(("BiJAD", nearest))
    return Trial(nearest == "BiJAD", ", ".join(f"{name} {units.ratio(ratios[name])}" for name in numbers))


def less_over_hyb_than_if_smooth(sigma: float) -> Judge:
    """Return a judge of whether a matrix with a larger σ has a lower speedup over HYB than the mean with a smaller σ.

    The mean is the geometric one over the paper's matrices, on the same device in the same cache state.
    """

    def judge(formats: Formats, data: StudyData) -> Trial | None:
        verdict = _verdict(formats, "PELLR", "HYB") if formats.is_rougher(sigma) else None
        if verdict is None or verdict.ratio is None:
            return None
        pellr = formats.fastest["PELLR"]
        smooth = _smooth_over_hyb(data, sigma, pellr.device, pellr.cache)
        if not smooth:
            return None
        mean = geometric_mean(smooth)
        return Trial(verdict.ratio < mean, f"{units.ratio(verdict.ratio)}, {units.ratio(mean)} if σ < {sigma:g}")

    return judge


def _smooth_over_hyb(data: StudyData, sigma: float, device: str, cache: str) -> list[float]:
    """Return the speedups of PELLR over HYB on the paper's matrices with a smaller σ."""
    ratios = []
    for (matrix_id, *place), group in group_by_facet(of_matrices(data.measurements)).items():
        formats = Formats(data.matrix(matrix_id), fastest_by_name(group) if place == [device, cache] else {})
        verdict = _verdict(formats, "PELLR", "HYB") if formats.original and formats.is_smoother(sigma) else None
        if verdict and verdict.ratio:
            ratios.append(verdict.ratio)
    return ratios


def hyb_leads_only_on_memplus(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether HYB is the only fastest format of Figure 11 on memplus, and not the only one elsewhere."""
    leaders, timed = _leaders(formats, FIGURE_11)
    if not leaders or "HYB" not in timed or len(timed) < 2:
        return None
    return Trial((leaders == ["HYB"]) == (formats.original == "memplus"), f"{timed[0]} ahead of {timed[1]}")


def leads(*chosen: str, covers: Covers = everywhere) -> Judge:
    """Return a judge of whether one of these formats is fastest or tied in Figure 12; all of them have a time."""

    def judge(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
        leaders, timed = _leaders(formats, FIGURE_12)
        if not leaders or len(timed) < 2 or not set(chosen) <= set(timed) or not covers(formats):
            return None
        best, first = formats.fastest[timed[0]], next(name for name in timed if name in chosen)
        behind = f"{first} {units.ratio(gain(best, formats.fastest[first]))} against {timed[0]}"
        number = f"{first} ahead of {timed[1]}" if first == timed[0] else behind
        return Trial(any(name in chosen for name in leaders), number)

    return judge


def in_faster_half(*chosen: str, covers: Covers = everywhere) -> Judge:
    """Return a judge of whether all these formats are in the faster half of Figure 12: up to its median time."""

    def judge(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
        times = _times(formats)
        if not set(chosen) <= set(times) or len(times) < 3 or not covers(formats):
            return None
        middle = median(times.values())
        return Trial(all(times[name] <= middle for name in chosen), _ranks(times, chosen))

    return judge


def in_slower_half(chosen: str) -> Judge:
    """Return a judge of whether a format is slower than the median of Figure 12; a fastest one is given as reason."""

    def judge(formats: Formats, data: StudyData) -> Trial | None:  # noqa: ARG001
        times = _times(formats)
        if chosen not in times or len(times) < 3:
            return None
        reason = f"{chosen} is the fastest" if min(times.values()) == times[chosen] else ""
        return Trial(times[chosen] > median(times.values()), _ranks(times, (chosen,)), reason=reason)

    return judge


def _verdict(formats: Formats, of: str, rival: str) -> Verdict | None:
    """Return the verdict on a format against a rival; None without two times."""
    m, other = formats.fastest.get(of), formats.fastest.get(rival)
    return compare(other, m) if m and other else None


def _with_kind(verdict: Verdict) -> str:
    return f"{units.speedup(verdict.ratio)} ({verdict_text(verdict.kind)})"


def _why_not(formats: Formats, rival: str) -> str:
    """Return a possible reason for a small gain, from the features of the matrix and the size of the GPU alone."""
    known = formats.matrix.stored
    if rival != "ELLR":
        if known.get("max", 0) > LONG * max(known.get("ave", 0.0), 1.0):
            return "possibly one thread with a row longer than ten times the mean"
        return "HYB is another program than the one of cuSPARSE" if rival == "HYB" else ""
    saved, resident = iterations_saved(formats.matrix), resident_warps(formats.fastest["PELLR"])
    if saved is not None and saved <= FEW_SAVED:
        return "sorting saves at most 10 % of n_iter"
    if resident and formats.matrix.n_rows <= WARP * resident:
        return "possibly the longest row, because the GPU can run all warps at once"
    return "possibly the other order of accesses to x and y"


def _leaders(formats: Formats, among: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the fastest or tied formats (none if the timings are noisy), and all timed ones, the fastest first."""
    names = {m.case: name for name, m in formats.fastest.items() if name in among}
    ranking = rank(m for m in formats.fastest.values() if m.case in names)
    return [names[m.case] for m in ranking.leaders], [names[m.case] for m in ranking.measurements]


def _times(formats: Formats) -> dict[str, float]:
    """Return the times of the formats of Figure 12 in seconds."""
    return {name: formats.fastest[name].median_s or 0.0 for name in FIGURE_12 if name in formats.fastest}


def _ranks(times: dict[str, float], chosen: Sequence[str]) -> str:
    """Return `rank 2 of 7`, or `JAD 2, ELLR 5 of 7` for several formats."""
    order = sorted(times, key=times.__getitem__)
    ranks = [(name, order.index(name) + 1) for name in chosen]
    if len(ranks) == 1:
        return f"rank {ranks[0][1]} of {len(times)}"
    return f"{', '.join(f'{name} {number}' for name, number in ranks)} of {len(times)}"
