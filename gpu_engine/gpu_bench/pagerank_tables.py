"""The tables of study `pagerank`: iterations by precision, pulls on heads, whole runs, cuGraph, other schedules."""

from collections.abc import Iterator, Sequence
from statistics import median

from gpu_engine.findings.pagerank.conclusions import table as papers_conclusions
from gpu_engine.findings.pagerank.pulls import pull_gains, pull_times
from gpu_engine.findings.pagerank.runs import FP64, FREE, Run, RunGroup, run_groups, speed_up, triangles
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, Tables, lowest, ms, number, section, us
from gpu_engine.gpu_bench.pagerank_peers import peer_runs

LAYOUTS = ("split/tile", "sellp/thread", "csr/thread", "ell/thread")
ERRORS = ("residual", "distance", "mass_error")
SEGMENTS = ("cpms2", "cpms4", f"{FREE}-cpms2", f"{FREE}-cpms4", "short-cpms2", "short-cpms4", f"{FREE}-short-cpms2")


def conclusions(data: BenchmarkData) -> Iterator[Section]:
    """What the paper concludes, and whether it holds."""
    yield Section("Beside the paper's conclusions (on a V100)", papers_conclusions(data.study), ())


def iterations(data: BenchmarkData) -> Iterator[Section]:
    """Iterations by precision, and whether the ranks are right: the worst over all kernels of ours."""
    heads = "graph | pages | links | fp64 | two segments | four segments | residual | distance to fp64 | mass error"
    rows = []
    for group in run_groups(data.study):
        matrix = data.study.matrix(group.matrix_id)
        own = [run.measurement for run in group.timed if run.precision]
        near_16 = [m.details for m in own if m.axes.get("near", "16") == "16"]
        worst = (max((getattr(details, name) or 0.0 for details in near_16), default=None) for name in ERRORS)
        rows.append(
            (
                *(
                    matrix.name,
                    str(matrix.n_rows),
                    str(next((m.details.links for m in own if m.details.links), matrix.nnz)),
                ),
                *(_split(_first(group, precision)) for precision in (FP64, "cpms2", "cpms4")),
                *(number(None) if value is None else f"{value:.1e}" for value in worst),
            )
        )
    title = "Iterations by precision; the worst residual, distance and mass of all runs with near 16"
    yield from section(title, heads, rows)


def pulls(data: BenchmarkData) -> Iterator[Section]:
    """Figure 4: pulls on heads against the same kernel in fp64, beside the probe's ratio."""
    rows, gains = [], dict[str, list[float]]()
    for group in run_groups(data.study):
        for layout in LAYOUTS:
            for precision in SEGMENTS:
                run = _usual(group, layout, precision)
                full = group.plain(run) if run else None
                if run is None or full is None:
                    continue
                found, whole = pull_gains(full, run), pull_times(full).get(0)
                ratios = [found.get(k) if k < run.segments else None for k in (1, 2, 3)]
                cells = (
                    f"{r.gain:.2f}{f' of {r.bound:.2f}' if r.bound else ''}" if r else number(None) for r in ratios
                )
                name = data.name(group.matrix_id)
                rows.append((name, run.measurement.kernel, us(whole.time_s if whole else None), *cells))
                if ratios[0] and precision == "cpms2":
                    gains.setdefault(_kernel(group, run), []).append(ratios[0].gain)
    title = "Pulls on the first segments against the same kernel in fp64: ratio of the probe's ratio"
    notes = [f"{kernel}, one segment: {lowest(own, 'graphs')}." for kernel, own in gains.items()]
    whole_graphs = (group for group in run_groups(data.study) if group.part == "full")
    if fastest := lowest(map(_gain_of_fastest, whole_graphs), "graphs"):
        which = "The layout that is fastest with values in fp64, each graph its own, two segments, one of them read"
        notes.append(f"{which}: {fastest}.")
    yield from section(title, "graph | kernel | fp64 µs | 1 segment | 2 segments | 3 segments", rows, *notes)


def totals(data: BenchmarkData) -> Iterator[Section]:
    """Figure 6: whole runs against the same kernel in fp64, beside the bound by bytes."""
    rows, shares = [], dict[str, list[float]]()
    for group in run_groups(data.study):
        for run in group.timed:
            m, full = run.measurement, group.plain(run)
            gain = speed_up(full, run)
            if full is None or gain is None or not run.segments or not _is_usual(run):
                continue
            bound, end = (full.measurement.floor_s or 0.0) / (m.floor_s or 1.0), m.axes["at_end"]
            share = (gain - 1) / (bound - 1) if bound > 1.005 else None
            times = ms(full.measurement.median_s), ms(m.median_s)
            cells = number(gain, 3), number(bound, 3), number(share)
            rows.append((data.name(group.matrix_id), m.kernel, end, *times, *cells))
            if share is not None:
                shares.setdefault(f"{_kernel(group, run)}, {end}", []).append(share)
    heads = "graph | kernel | values at the end | fp64 ms | ms | gain | bound by bytes | share of the saving"
    notes = (f"{name}: share of the saving: {_middle(found)}." for name, found in sorted(shares.items()))
    yield from section("Runs to convergence against the same kernel in fp64", heads, rows, *notes)


def _middle(shares: Sequence[float]) -> str:
    # A share may be negative: then there is no geometric mean.
    negative = f"median {median(shares):.2f}, lowest {min(shares):.2f}, of {len(shares)} graphs"
    return lowest(shares, "graphs") if min(shares) > 0 else negative


def fastest(data: BenchmarkData) -> Iterator[Section]:
    """Ours in fp64 against cuGraph, and what segments add."""
    peer, rows, ratios = peer_runs(data), [], list[float]()
    for group in run_groups(data.study):
        full, theirs = group.fastest_full, peer.times.get(group.matrix_id)
        if full is None or group.part != "full":
            # Of lower triangles only the paper's kernels ran, which are seldom the fastest.
            continue
        m = full.measurement
        total = m.median_s or 0.0
        each = total / (m.details.iterations or 1)
        over = (theirs.iteration_s / each, theirs.run_s / total) if theirs else (None, None)
        ratios += [ratio for ratio in over[:1] if ratio]
        beside = us(theirs.iteration_s if theirs else None), *map(number, over)
        heads = next((run for run in group.timed if run.segments), None)
        added = f"{number(speed_up(full, heads), 3)} ({heads.measurement.kernel})" if heads else number(None)
        rows.append((data.name(group.matrix_id), m.kernel, us(each), ms(total), *beside, added))
    head = "graph | fastest in fp64 | µs an iteration | ms | cuGraph µs | iteration | to 1e-10 | segments add"
    means = lowest(ratios, "graphs")
    notes = (f"An iteration of cuGraph over ours: {means}.", *peer.notes) if means else ()
    yield from section(f"The fastest run in fp64; {peer.origin}", head, rows, *notes)


def schedules(data: BenchmarkData) -> Iterator[Section]:
    """Schedules that the paper did not try, of one kernel, against its own."""
    rows = []
    for group in run_groups(data.study):
        for run in group.timed:
            axes, base = run.measurement.axes, _usual(group, run.layout, run.precision)
            if base and not _is_usual(run):
                own = (run.measurement.kernel, axes["first"], axes["near"], _split(base), _split(run))
                rows.append((data.name(group.matrix_id), *own, number(speed_up(base, run), 3)))
    heads = "graph | kernel | first | near | iterations, first 1 and near 16 | iterations | time of that over this"
    yield from section("Other schedules", heads, rows)


def _kernel(group: RunGroup, run: Run) -> str:
    """The kernel, and what of the graphs ran where it is not all of them."""
    return ", ".join(filter(None, (run.measurement.kernel, triangles(group.part))))


def _usual(group: RunGroup, layout: str, precision: str) -> Run | None:
    """The run with the schedule of the paper; of two ends the faster one."""
    runs = (run for run in group.timed if (run.layout, run.precision) == (layout, precision))
    return next(filter(_is_usual, runs), None)


def _is_usual(run: Run) -> bool:
    """Whether it begins with one segment and has near 16, as in the paper, or has no segments."""
    axes = run.measurement.axes
    return (axes.get("near", "16"), axes.get("first", "1")) == ("16", "1")


def _first(group: RunGroup, precision: str) -> Run | None:
    return next((run for layout in LAYOUTS if (run := _usual(group, layout, precision))), None)


def _split(run: Run | None) -> str:
    """`4 + 6 = 10`: iterations that wrote 1, 2 … segments; their number alone where values have none."""
    if run is None:
        return number(None)
    own = run.measurement.details
    return " = ".join(filter(None, (" + ".join(map(str, own.iterations_by_segments)), str(own.iterations))))


def _gain_of_fastest(group: RunGroup) -> float | None:
    """Pulls on heads against fp64 in the layout whose runs in fp64 are the fastest of those with values."""
    full = next((run for run in group.timed if run.precision == FP64), None)
    heads = _usual(group, full.layout, "cpms2") if full else None
    found = pull_gains(full, heads).get(1)
    return found.gain if found else None


TABLES: Tables = {table.__name__: table for table in (conclusions, iterations, fastest, pulls, totals, schedules)}
