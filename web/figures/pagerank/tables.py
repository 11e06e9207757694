"""What is said of runs in numbers alone: every run with its iterations, time and ranks; and the highest ranks."""

from gpu_engine.records import Measurement
from web import units
from web.figures.base import Head, Table
from web.figures.pagerank.facets import place
from web.runs import FP64, Run, RunGroup, by_segments, has_right_ranks, power, run_groups, speed_up
from web.shown import Shown

PLACES = 10
"""Top pages of a matrix that are listed."""


def runs(shown: Shown) -> Table:
    """Every run, matrix by matrix, the fastest first; a run without a time says why."""
    heads = tuple(Head(text, numeric=False) for text in ("matrix", "device", "run", "ranks"))
    numbers = (
        Head("iterations"),
        Head("iterations", "by segments"),
        Head("time", "median"),
        Head("95 % interval"),
        Head("share of", "floor"),
        Head("speed-up", "same kernel in fp64"),
        Head("speed-up", "fastest in fp64"),
        Head("residual"),
        Head("distance", "from fp64"),
        Head("overlap", "top pages"),
        Head("mass error"),
    )
    rows = tuple(
        (*place(group, shown), group.label(run), _ranks(run, shown), *_numbers(group, run), run.measurement.note)
        for group in run_groups(shown)
        for run in group.runs
    )
    return Table((*heads, *numbers, Head("note", numeric=False)), rows)


def top_pages(shown: Shown) -> Table:
    """The highest ranks of each matrix in fp64, and how many of the runs have the same page in that place."""
    heads = (Head("matrix", numeric=False), Head("device", numeric=False), Head("place"), Head("page"), Head("rank"))
    rows: list[tuple[str, ...]] = []
    for group in run_groups(shown):
        listed = [run for run in group.runs if run.measurement.top_pages]
        if listed:
            first = next((run for run in listed if run.precision == FP64), listed[0])
            rows += [(*place(group, shown), *line) for line in _places(first.measurement, listed)]
    return Table((*heads, Head("same page", "runs")), tuple(rows))


def _numbers(group: RunGroup, run: Run) -> tuple[str, ...]:
    m = run.measurement
    interval = f"{units.seconds(m.ci_low_s)} – {units.seconds(m.ci_high_s)}" if m.ci_low_s and m.ci_high_s else ""
    return (
        units.count(m.iterations),
        by_segments(m.iterations_by_segments) or units.MISSING,
        units.seconds(m.median_s),
        interval or units.MISSING,
        units.percent(m.floor_s / m.median_s if m.floor_s and m.median_s else None),
        units.ratio(speed_up(group.plain(run), run)),
        units.ratio(speed_up(group.fastest_full, run)),
        power(m.residual),
        power(m.distance),
        units.percent(m.overlap),
        power(m.mass_error),
    )


def _ranks(run: Run, shown: Shown) -> str:
    if run.measurement.state != "ok":
        return run.measurement.state
    return "right" if has_right_ranks(run, shown) else "not right to ε"


def _places(first: Measurement, listed: list[Run]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    for number, (page, rank) in enumerate(zip(first.top_pages, first.top_ranks, strict=False)):
        if number == PLACES:
            break
        same = sum(run.measurement.top_pages[number : number + 1] == (page,) for run in listed)
        lines.append((str(number + 1), units.count(page), power(rank), f"{same} of {len(listed)}"))
    return lines
