"""The tables of study `batched`: the paper's figures, and random matrices against the floor and cuSPARSE."""

from collections import Counter
from collections.abc import Iterator, Sequence

from gpu_engine.competitors import BEST
from gpu_engine.findings.batched import PAPER_GAIN
from gpu_engine.findings.batched.conclusions import table as papers_conclusions
from gpu_engine.findings.batched.groups import (
    ADDED,
    LOOPS,
    BatchGroup,
    bandwidth,
    batch_groups,
    is_ours,
    name_of,
    operations,
)
from gpu_engine.findings.finding import gain, share
from gpu_engine.gpu_bench.batch_subjects import is_similar
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, Tables, lowest, mean, number, section, us
from gpu_engine.gpu_bench.subjects import STAND_IN
from gpu_engine.records import CACHES, Cache, Measurement

CHAIN, BRANCHES = "cusparse/chain", "cusparse/branches"


def conclusions(data: BenchmarkData) -> Iterator[Section]:
    """What the paper concludes, and whether it holds."""
    if (found := papers_conclusions(data.study)).rows:
        yield Section("Beside the paper's conclusions, each judged (on a P100)", found, ())


def random_matrices(data: BenchmarkData) -> Iterator[Section]:
    """Random matrices against the floor and cuSPARSE."""
    heads = "matrix | problems | floor µs | cuSPARSE µs | ours µs | kernel | of floor | ratio | to chain | to branches"
    for cache in CACHES:
        for operation in operations(data.study):
            found = [b for b in _copies(data, "batch random", cache, operation) if b.ours]
            rows = [_against_libraries(data, b) for b in found]
            sizes = (
                _means(size, among)
                for is_large, size in ((True, "n of about 1,000"), (False, "n = 100"))
                if (among := [b for b in found if (data.study.matrix(b.matrix_id).n_rows >= 1000) == is_large])
            )
            yield from section(f"Random matrices, {operation}, {cache}", heads, rows, *sizes)


def _means(size: str, among: Sequence[BatchGroup]) -> str:
    of_floor, ratio = mean(map(_of_floor, among)), mean(_ratio(b, BEST) for b in among)
    return f"{size}: geometric mean of floor {of_floor}, ratio {ratio}."


def _against_libraries(data: BenchmarkData, b: BatchGroup) -> Sequence[str]:
    rival, ours = b.of(BEST), b.ours[0]
    return (
        *(data.name(b.matrix_id), str(b.problems), us(ours.floor_s)),
        f"{us(rival.median_s)} ({rival.note})" if rival else us(None),
        *(us(ours.median_s), ours.kernel, number(_of_floor(b))),
        *(number(_ratio(b, name)) for name in (BEST, CHAIN, BRANCHES)),
    )


def growing(data: BenchmarkData) -> Iterator[Section]:
    """Figure 3: batches of growing size against one call after the other."""
    for cache in CACHES:
        found = [b for b in _copies(data, "batch paper", cache) if is_similar(b.matrix_id) and b.ours]
        rivals = [name for name in (*LOOPS, BRANCHES, BEST) if any(b.of(name) for b in found)]
        loops = [name for name in rivals if name in LOOPS]
        heads = " | ".join(
            (
                *("matrix", "problems", "ours GFLOP/s", "kernel"),
                *(f"{_short(name)} GFLOP/s" for name in loops),
                *(f"to {_short(name)}" for name in rivals),
            )
        )
        rows = (
            (
                *(data.name(b.matrix_id), str(b.problems), _rate(b.ours[0]), b.ours[0].kernel),
                *(_rate(b.of(name)) for name in loops),
                *(number(_ratio(b, name)) for name in rivals),
            )
            for b in found
        )
        over = ((name, lowest(_ratio(b, name) for b in found)) for name in rivals)
        paper = dict.fromkeys(loops, f" ({PAPER_GAIN})")
        notes = (f"Over {name}{paper.get(name, '')}: {means}." for name, means in over if means)
        yield from section(f"Batches of growing size (Figure 3), {cache}", heads, rows, *notes)


def _short(name: str) -> str:
    """A kernel in the head of a table."""
    structure, _, how = name.partition("/")
    if name == BEST:
        return "block-diagonal"
    return how if structure == "cusparse" else f"{structure.upper()} {how}"


def row_lengths(data: BenchmarkData) -> Iterator[Section]:
    """Figure 4: rates by row length, balanced and in few rows."""
    for cache in CACHES:
        for what, side in (("balanced", "left"), ("few rows", "right")):
            title = f"1,000 problems of {what} (Figure 4, {side})"
            yield from _rates(data, title, _copies(data, f"batch {what}", cache), cache)


def collection(data: BenchmarkData) -> Iterator[Section]:
    """Figure 5: rates of every kernel on the paper's matrices, by ascending mean row length."""
    for cache in CACHES:
        copies = [b for b in _copies(data, "batch paper", cache) if b.timed]
        most = max((b.problems for b in copies), default=0)
        found = sorted((b for b in copies if b.problems == most), key=lambda b: _mean_row(data, b))
        means = lowest((_ratio(b, BEST) for b in found), "matrices")
        note = f"Over {BEST}: {means}." if means else ""
        yield from _rates(data, f"{most:,} problems of the paper's matrices (Figure 5)", found, cache, note)


def _rates(
    data: BenchmarkData, title: str, batches: Sequence[BatchGroup], cache: Cache, note: str = ""
) -> Iterator[Section]:
    """GFLOP/s of every kernel that has a time, those of libraries last."""
    timed = [b for b in batches if b.timed]
    kernels = sorted({m.kernel for b in timed for m in b.timed}, key=lambda name: (not is_ours(name), name))
    rows = (
        (
            *(data.name(b.matrix_id), f"{_mean_row(data, b):.1f}"),
            *(_rate(b.of(kernel)) for kernel in kernels),
            number(_of_floor(b)),
        )
        for b in timed
    )
    heads = " | ".join(("matrix", "mean row", *kernels, "fastest, of floor"))
    yield from section(f"{title}, GFLOP/s, {cache}", heads, rows, note)


def mixed(data: BenchmarkData) -> Iterator[Section]:
    """Figures 6 and 7: rates and sustained bandwidth on heterogeneous batches, the fastest kernel first."""
    for cache in CACHES:
        for b in _batches(data, cache):
            if b.compose == "mixed":
                similar = all(map(is_similar, b.members))
                what = "of similar order (Figure 6)" if similar else "of the paper (Figure 7)"
                rows = (
                    (m.kernel, _rate(m), number(_in_gb(bandwidth(m)), 0), number(share(m.floor_s, m)), m.note)
                    for m in b.timed
                )
                title = f"{b.problems:,} problems, {len(b.members)} matrices {what}, {cache}"
                ratio = _ratio(b, BEST)
                note = f"Over {BEST}: {number(ratio)}." if ratio else ""
                yield from section(title, "kernel | GFLOP/s | GB/s | of floor | note", rows, note, _stand_ins(b))


def _stand_ins(b: BatchGroup) -> str:
    """Which members of a mixed batch were generated in the kind of a matrix that was not there; empty of none."""
    found = [name.removesuffix(STAND_IN) for name in b.members if name.endswith(STAND_IN)]
    return f"Stand-ins for {len(found)} of {len(b.members)} matrices: {', '.join(found)}." if found else ""


def auto(data: BenchmarkData) -> Iterator[Section]:
    """The kernel that chooses by itself against the fastest single one."""
    heads = "group | matrix | problems | operation | auto | fastest single | its time over auto's"
    for cache in CACHES:
        found = [(b, b.auto, b.single) for b in _batches(data, cache) if b.auto and b.single]
        rows = (
            (
                *(_group(data, b), name_of(b, data.study), str(b.problems), b.operation),
                *(own.kernel, single.kernel, number(gain(single, own))),
            )
            for b, own, single in found
        )
        note = f"Over the fastest single: {lowest((gain(single, own) for _, own, single in found), 'batches')}."
        yield from section(f"Choosing by itself, {cache}", heads, rows, note)


def winners(data: BenchmarkData) -> Iterator[Section]:
    """How often each kernel is the fastest single one, by group."""
    for cache in CACHES:
        counts: dict[str, Counter[str]] = {}
        for b in _batches(data, cache):
            if single := b.single:
                counts.setdefault(_group(data, b), Counter())[single.kernel] += 1
        rows = ((group, ", ".join(f"{name} {n}" for name, n in of.most_common())) for group, of in counts.items())
        yield from section(f"Which kernel is the fastest where, {cache}", "group | batches that it wins", rows)


def _batches(data: BenchmarkData, cache: Cache) -> list[BatchGroup]:
    return [b for b in batch_groups(data.study, every_operation=True) if b.cache == cache]


def _in_gb(rate: float | None) -> float | None:
    return None if rate is None else rate / 1e9


def _copies(data: BenchmarkData, group: str, cache: Cache, operation: str = ADDED) -> list[BatchGroup]:
    """Homogeneous batches of the subjects of a group."""
    return [b for b in _batches(data, cache) if (_group(data, b), b.operation) == (group, operation)]


def _group(data: BenchmarkData, b: BatchGroup) -> str:
    """The group of the subject, or `mixed`."""
    return b.compose if b.compose == "mixed" else data.groups[b.matrix_id]


def _ratio(b: BatchGroup, rival: str) -> float | None:
    """Time of a rival over that of our fastest."""
    return gain(b.of(rival), next(iter(b.ours), None))


def _of_floor(b: BatchGroup) -> float | None:
    return share(b.ours[0].floor_s, b.ours[0]) if b.ours else None


def _mean_row(data: BenchmarkData, b: BatchGroup) -> float:
    matrix = data.study.matrix(b.matrix_id)
    return matrix.nnz / matrix.n_rows


def _rate(m: Measurement | None) -> str:
    return number(m.gflops if m else None, 1)


TABLES: Tables = {
    table.__name__: table
    for table in (conclusions, random_matrices, growing, row_lengths, collection, mixed, auto, winners)
}
