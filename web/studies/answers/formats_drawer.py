"""Drawer of a matrix on the page Formats: the fastest kernels, and the best one for n SpMVs."""

from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from gpu_engine.findings.data import TRANSPOSE
from gpu_engine.findings.formats.for_n import break_even, cost_of, total_s
from gpu_engine.findings.ranking import rank
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.words import capital
from gpu_engine.verdicts.verdict import verdict_text
from web.components import Link
from web.device_labels import short
from web.explore import Drawer
from web.over_n import over_n
from web.palette import mark_of
from web.plots.axis import log_axis
from web.plots.dots import DotRow, Dots, DotValue
from web.plots.lines import Lines
from web.results import Results
from web.selection import study_url
from web.studies.answers.formats_settings import ITERATIONS_PARAMETER, Setting, numbers_text, settings

ROWS_MAX, TICKS_MAX = 8, 4
SLOWDOWN_MAX = 2.5
"""Largest slowdown of a kernel in the dot plot."""


def drawer(results: Results, matrix: str) -> Drawer | None:
    """Return the drawer of a matrix in the first device and cache state that it counts in; None without one."""
    setting = next((each for each in settings(results) if matrix in each.choices.groups), None)
    return drawer_of(results, setting, matrix) if setting else None


def drawer_of(results: Results, setting: Setting, matrix: str) -> Drawer:
    """Return the drawer of a matrix of a setting."""
    known = results.data.matrix(matrix)
    collected = str(known.source.get("name") or "")
    where = filter(None, (collected if collected != known.name else "", short(setting.place[0]), setting.place[1]))
    row = known.stored.get("max")
    lengths = f"{units.number(known.ave)}{f', longest {units.count(row)}' if row else ''}"
    return Drawer(
        title=known.name,
        eyebrow=" · ".join(where),
        sentence=sentence_of(setting, matrix),
        under=tuple(filter(None, (_evidence(setting, matrix), _for_n(setting, matrix)))),
        pictures=(_dots(setting, matrix), *_lines(setting, matrix)),
        facts=(
            ("rows × columns", f"{units.count(known.n_rows)} × {units.count(known.n_cols)}"),
            ("nonzeros", units.count(known.nnz)),
            ("nonzeros per row", lengths),
            *_advice(setting, matrix),
        ),
        links=(
            Link("Open the matrix", _page_of(results, setting, matrix)),
            Link("All kernels", f"{study_url(results.study, results.requested.with_(matrix=matrix, open=()))}"),
        ),
    )


def _page_of(results: Results, setting: Setting, matrix: str) -> str:
    """Return the address of the page of a matrix for the same number of SpMVs, device, and cache state."""
    device, cache = results.device_id(setting.place[0]), setting.place[1].partition(",")[0]
    iterations = {"iterations": number} if (number := results.data.number(ITERATIONS_PARAMETER.name)) else {}
    query = {"n": setting.n, **iterations, "device": device, "cache": cache}
    return f"/matrices/{matrix.removesuffix(TRANSPOSE)}?{urlencode(query)}"


def sentence_of(setting: Setting, matrix: str) -> str:
    """Return the fastest kernel of a matrix, its speedup, and from how many SpMVs on it pays against CSR."""
    fastest = setting.choices.fastest
    m, verdict = fastest.measurements[matrix], fastest.verdicts[matrix]
    rival = setting.in_sentence_on(matrix)
    if m is setting.choices.baselines[matrix]:
        name = rival if rival == m.kernel else capital(rival)
        return f"{name} is fastest: {units.seconds(m.median_s)} per SpMV."
    gain = f"speedup {units.speedup(verdict.ratio)} over {rival}"
    if verdict.kind != "faster":
        return f"{m.kernel} has the least time, but is not measurably faster than {rival}."
    tied = len(rank(setting.choices.groups[matrix]).leaders) > 1
    return f"{m.kernel} {'ties for fastest' if tied else 'is fastest'}, {gain}.{_pays(setting, matrix, m)}"


def _pays(setting: Setting, matrix: str, m: Measurement) -> str:
    """Return from how many SpMVs on a conversion pays against CSR, as the page of the matrix does."""
    cost, decision = cost_of(m), setting.decisions[matrix]
    if cost is None or decision is None or decision.csr is None or not decision.has_conversions:
        return ""
    pays = break_even(cost, decision.csr)
    if pays is None or pays == 1:
        return ""
    return f" Conversion pays off against {decision.csr.kernel} from {numbers_text(pays)} on."


def _evidence(setting: Setting, matrix: str) -> str:
    """Return the verdict on the fastest kernel, its rounds, and whether it is bitwise reproducible."""
    fastest = setting.choices.fastest
    m, verdict = fastest.measurements[matrix], fastest.verdicts[matrix]
    reproducible = {True: "bitwise reproducible", False: "not bitwise reproducible", None: ""}
    parts = (
        "" if m is setting.choices.baselines[matrix] else f"Verdict: {verdict_text(verdict.kind)}",
        f"{units.count(m.rounds)} rounds" if m.rounds else "",
        reproducible[m.details.is_reproducible],
    )
    text = ", ".join(filter(None, parts))
    return f"{capital(text)}." if text else ""


def _for_n(setting: Setting, matrix: str) -> str:
    """Return the kernel to take for n SpMVs, as the page of the matrix does; empty without conversion times."""
    decision = setting.decisions[matrix]
    if decision is None or not decision.has_conversions:
        return ""
    kernel, for_n = decision.kernel.kernel, f"For {numbers_text(setting.n)} with conversion"
    total = units.seconds(total_s(decision.kernel, setting.n))
    if decision.keeps_csr:
        return f"{for_n}, keep CSR: {kernel} takes {total}."
    gain = f", speedup {units.ratio(decision.speedup)} over {decision.csr.kernel}" if decision.csr else " in all"
    return f"{for_n}, take {kernel}: {total}{gain}."


def _dots(setting: Setting, matrix: str) -> Dots:
    group = [m for m in setting.choices.groups[matrix] if m.median_s]
    best_s = group[0].median_s or 1.0
    near = [m for m in group if (m.median_s or 0.0) <= SLOWDOWN_MAX * best_s][:ROWS_MAX]
    axis = log_axis([(m.median_s or 0.0) / best_s for m in near], least=1.0)
    ticks = axis.ticks()
    return Dots(
        heading="Time of one SpMV",
        series=(),
        ticks=ticks[::2] if len(ticks) > TICKS_MAX else ticks,
        one=axis.at(1.0),
        heads=("median",),
        rows=tuple(
            DotRow(
                m.kernel,
                "",
                (axis.dot((m.median_s or 0.0) / best_s, form, color, low=low, high=high),),
                (DotValue(units.seconds(m.median_s)),),
                color=color,
                form=form,
            )
            for m in near
            for color, form in (mark_of(m.kernel),)
            for low, high in (tuple(_over(end, best_s) for end in m.shown_ci_s),)
        ),
        what="kernel",
        note="slowdown against the fastest",
    )


def _over(time_s: float | None, best_s: float) -> float | None:
    return time_s / best_s if time_s else None


def _lines(setting: Setting, matrix: str) -> Iterator[Lines]:
    decision = setting.decisions[matrix]
    if decision and decision.has_conversions and len(decision.costs) > 1:
        yield over_n(decision.costs, setting.n, decision.csr or decision.kernel)


def _advice(setting: Setting, matrix: str) -> Sequence[tuple[str, str]]:
    """Return the advisor's choice, and how much slower it is than the fastest kernel."""
    advised = setting.choices.advised
    m: Measurement | None = advised.measurements.get(matrix) if advised else None
    if m is None:
        return ()
    fastest = setting.choices.fastest.measurements[matrix]
    slowdown = (m.median_s or 0.0) / (fastest.median_s or 1.0)
    word = "the fastest" if m.kernel == fastest.kernel else f"slowdown {units.ratio(slowdown)}"
    return (("advisor’s choice", f"{m.kernel}, {word}"),)
