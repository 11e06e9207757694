"""Report of the CI gate as Markdown: summary, differences, and all pairs."""

from collections import Counter
from collections.abc import Iterator, Sequence

from gpu_engine.ab.contest import Pair
from gpu_engine.gpu_bench.markdown import table_lines
from gpu_engine.records import DeviceInfo
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import interval_of_ratio, speedup_text

HEADS = (
    *(Head(text, numeric=False) for text in ("matrix", "kernel", "cache")),
    *(Head(text) for text in ("base", "head", "base / head", "95 % CI", "verdict")),
)

RULE = (
    "Both trees ran in one process, in the same interleaved rounds. Kernels that were slower were measured a "
    "second time; they count as slower only if both measurements agree."
)


def report(pairs: Sequence[Pair], device: DeviceInfo) -> str:
    """Return the report: summary, a table of the differences, and all pairs in a folded section."""
    differences = [pair for pair in pairs if pair.says not in ("same", "skipped")]
    lines = [f"## Kernels of head against base, {device.name}", "", answer(pairs), ""]
    lines += [*_table(differences), ""] if differences else []
    lines += ["<details><summary>All pairs</summary>", "", *_table(pairs), "", "</details>", "", RULE]
    return "\n".join(lines) + "\n"


def answer(pairs: Sequence[Pair]) -> str:
    """Return the summary: `2 slower, 1 faster, 60 same, 3 inconclusive. The worst is csr/scalar …`."""
    counts = Counter("failed" if pair.is_broken else pair.says for pair in pairs)
    summary = ", ".join(
        f"{counts[kind]} {kind}"
        for kind in ("failed", "slower", "faster", "inconclusive", "same", "skipped")
        if counts[kind]
    )
    slower = [pair for pair in pairs if pair.is_slower and pair.verdict.ratio]
    if not slower:
        return f"{summary or 'Nothing was measured'}."
    worst = min(slower, key=lambda pair: pair.verdict.ratio or 1.0)
    how = speedup_text(worst.verdict.ratio or 1.0)
    return f"{summary}. The worst is `{worst.kernel}` on {worst.matrix}, {worst.cache}: {how} of head against base."


def _table(pairs: Sequence[Pair]) -> Iterator[str]:
    return table_lines(Table(HEADS, tuple(map(_row, pairs))))


def _row(pair: Pair) -> tuple[str, ...]:
    low, high = interval_of_ratio(pair.base, pair.head) or (None, None)
    times = units.seconds(pair.base.median_s), units.seconds(pair.head.median_s)
    between = units.MISSING if low is None or high is None else f"{low:.3f} – {high:.3f}"
    return pair.matrix, f"`{pair.kernel}`", pair.cache, *times, _ratio(pair.verdict.ratio), between, pair.says


def _ratio(value: float | None) -> str:
    return units.MISSING if value is None else f"{value:.3f}"
