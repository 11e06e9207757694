"""Table of the answers on the page Formats, for papers: speedup, and the kernel for n SpMVs with conversion."""

from gpu_engine.findings.finding import INTERVAL
from gpu_engine.findings.formats.decision import Decision
from gpu_engine.findings.formats.for_n import total_s
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import verdict_text
from web.components import TitledTable
from web.results import Results
from web.studies.answers.formats_settings import Setting, numbers_text, settings


def answer_tables(results: Results) -> tuple[TitledTable, ...]:
    """Return a table per device and cache state: a row per matrix that counts, and the means over them."""
    return tuple(_table(results, setting) for setting in settings(results))


def _table(results: Results, setting: Setting) -> TitledTable:
    best, n = setting.choices.best, numbers_text(setting.n)
    order = sorted(best.verdicts, key=lambda i: -(best.verdicts[i].ratio or 0.0))
    heads = (
        Head("matrix", numeric=False),
        Head("kernel", numeric=False),
        Head("time", "one SpMV"),
        Head("speedup", f"vs {setting.short_rival}"),
        Head("verdict", numeric=False),
        Head(f"for {n}", numeric=False),
        Head("conversion"),
        Head("total"),
        Head("speedup", "vs best CSR"),
        Head(INTERVAL),
        Head("break-even", "SpMVs"),
    )
    rows = [_row(results, setting, i) for i in order]
    ends = units.ratio_interval(best.interval)
    mean = f"geometric mean of {units.count(len(order))}"
    interval = f"{INTERVAL} {ends}" if ends else ""
    summary = (mean, "", "", units.ratio(best.mean), interval, *[""] * (len(heads) - 5))
    number = len(setting.choices.busy)
    noisy = f" · too noisy: {number} of {number + len(order)}" if number else ""
    place, cache = setting.place
    heading = f"Fastest Sparsight kernel and kernel for {n} · {place} · {cache}{noisy}"
    means = (summary,) if len(rows) > 1 else ()
    return TitledTable(
        heading, Table(heads, (*rows, *means)), keys=(("device", place), ("cache", cache)), means=len(means)
    )


def _row(results: Results, setting: Setting, matrix: str) -> tuple[str, ...]:
    m, verdict = setting.choices.best.measurements[matrix], setting.choices.best.verdicts[matrix]
    return (
        results.data.matrix(matrix).name,
        m.kernel,
        units.seconds(m.median_s),
        units.judged_ratio(verdict.ratio),
        verdict_text(verdict.kind),
        *_for_n(setting.decisions[matrix]),
    )


def _for_n(decision: Decision | None) -> tuple[str, ...]:
    """Return kernel, conversion, total, speedup over the best kernel of CSR with its CI, and break-even."""
    if decision is None or not decision.has_conversions:
        return (units.MISSING,) * 6
    kernel, pays = decision.kernel, decision.pays_after
    return (
        kernel.kernel,
        units.seconds(kernel.convert_s),
        units.seconds(total_s(kernel, decision.n)),
        units.judged_ratio(decision.speedup),
        units.MISSING if decision.keeps_csr else units.ratio_interval(decision.interval) or units.MISSING,
        units.MISSING if pays is None else units.count(pays),
    )
