"""What may be said of runs of PageRank: which is fastest, what segments gain, whether the ranks are right."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_engine.noise import noise
from gpu_engine.verdict import compare
from web import units
from web.comparison import NAMED, join
from web.runs import Run, RunGroup, by_segments, is_right, power, run_groups, speed_up, tolerance
from web.shown import Shown


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict on a group of runs, in sentences."""

    matrix_id: str
    device: str
    parameters: str
    sentences: tuple[str, ...]


def run_verdicts(shown: Shown) -> list[RunVerdict]:
    """A verdict per matrix, device and parameters: only runs whose ranks are right compete."""
    return [
        RunVerdict(
            group.matrix_id, group.device, group.parameters, _sentences(group, shown.matrix(group.matrix_id).n_rows)
        )
        for group in run_groups(shown)
    ]


def _sentences(group: RunGroup, n: int) -> tuple[str, ...]:
    right = [run for run in group.timed if is_right(run, n)]
    if not right:
        return ("No run here has a time and the right ranks.", *_wrong(group, n))
    best = next((run for run in right if run.in_fewer_bits), None)
    with_segments = (_gain(group, best), _ranks(group, best, n)) if best else (_ranks(group, right[0], n),)
    return (_fastest(group, right), *with_segments, *_wrong(group, n))


def _fastest(group: RunGroup, right: Sequence[Run]) -> str:
    if busy := noise([run.measurement for run in group.timed]):
        return busy
    first = right[0].measurement
    kinds = {run.measurement.case: compare(first, run.measurement).kind for run in right[1:]}
    leaders = [run for run in right if kinds.get(run.measurement.case, "same") == "same"]
    unsettled = [group.label(run) for run in right if kinds.get(run.measurement.case) == "ambiguous"]
    claim = "is fastest" if len(leaders) == 1 else "are fastest, with no measurable difference,"
    if unsettled:
        claim = "leads, not clearly," if len(leaders) == 1 else "lead, not clearly,"
    names = join([group.label(run) for run in leaders], NAMED)
    under = f" with {group.parameters}" if group.parameters else ""
    doubt = f"; {join(unsettled, NAMED)} may be as fast (ambiguous)" if unsettled else ""
    return f"{names} {claim} on {group.device}{under}: {units.seconds(first.median_s)} to convergence{doubt}."


def _gain(group: RunGroup, best: Run) -> str:
    """Both ratios always: the gain over the same kernel alone would flatter."""
    plain, fastest = group.plain(best), group.fastest_full
    said = f"The best with segments is {group.label(best)}: "
    if plain is not None and plain is fastest:
        return f"{said}{_against(best, plain)}, the same kernel in fp64 and the fastest run in fp64."
    own = f"{_against(best, plain)}, the same kernel in fp64" if plain else "the same kernel has no time in fp64"
    all_ = f"{_against(best, fastest)}, the fastest run in fp64" if fastest else "no run in fp64 has a time"
    return f"{said}{own}; {all_}."


def _against(run: Run, base: Run) -> str:
    kind = compare(base.measurement, run.measurement).kind
    return f"{units.ratio(speed_up(base, run))} {base.measurement.kernel} ({kind})"


def _ranks(group: RunGroup, run: Run, n: int) -> str:
    m, plain = run.measurement, group.plain(run) or group.fastest_full
    parts = f" ({by_segments(m.iterations_by_segments)} by segments)" if m.iterations_by_segments else ""
    said = f"{units.count(m.iterations)} iterations{parts}"
    if plain and plain is not run:
        said += f" against {units.count(plain.measurement.iterations)} in fp64"
    said += f"; the ranks are right: residual {power(m.residual)} under {power(tolerance(run, n))}"
    return f"{said}{_beside_fp64(run)}."


def _beside_fp64(run: Run) -> str:
    m = run.measurement
    if run.precision == "fp64" or m.distance is None:
        return ""
    top = f", {units.percent(m.overlap)} of the top pages the same" if m.overlap is not None else ""
    return f", distance {power(m.distance)} from those in fp64{top}"


def _wrong(group: RunGroup, n: int) -> tuple[str, ...]:
    """A sentence on the runs that ended without the right ranks, faster or not; none where there are none."""
    wrong = [run for run in group.timed if not is_right(run, n)]
    if not wrong:
        return ()
    named = join([f"{group.label(run)} (residual {power(run.measurement.residual)})" for run in wrong], NAMED)
    return (f"Not ranked, the ranks not being right to ε: {named}.",)
