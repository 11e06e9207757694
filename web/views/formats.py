"""`/formats`: the comparison of kernels, in words, figures and tables."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from gpu_engine.records import CACHES
from server import catalogue
from server.models import MatrixState
from web import units
from web.comparison import BASELINES, join, overview
from web.contexts import Chart, Choice, Choices, FormatsPage, Link, StudyFigure
from web.figures import FIGURES, Figure
from web.figures.base import Head, Table
from web.figures.formats.panels import by_place, formats_of
from web.measured import Measured, measured
from web.selection import NAMES, VALUES_MAX, Selection
from web.shown import Shown
from web.views.lines import findings, formats_url

CHOICES_MAX = 24
"""Most matrices offered beside each other; the others have their own pages."""

SPIES_MAX = 6

FORM = ("matrix", "baseline", "pair")
"""What the form chooses; the address keeps the rest."""


def page(session: Session, asked: Selection) -> FormatsPage:
    """The page of a selection; raises NotFoundError for an unknown job."""
    seen = measured(session, asked)
    found = findings(seen, seen.measurements, seen.shown.baseline)
    matrices = _matrices(seen)
    figures = _figures(seen)
    return FormatsPage(
        title="Formats compared",
        topics=",".join(f"job:{job.id}" for job in seen.jobs if job.finished_at is None),
        overview=tuple(overview([finding.comparison for finding in found])),
        findings=found,
        figures=figures,
        few=_few(figures) if found else "",
        structure=_structure(session, seen),
        features=_features(seen),
        devices=_switch(asked, "device", seen.devices, seen.selection.device),
        caches=_switch(asked, "cache", CACHES, seen.selection.cache),
        matrices=matrices,
        every=_every(asked, seen),
        baselines=_baselines(seen, found[0].comparison.baseline if found else ""),
        pair=_pair(seen.shown),
        kept=tuple((name, v) for name in NAMES if name not in FORM for v in getattr(asked, name)),
        downloads=(Link("CSV", f"/formats.csv?{asked.query}"), Link("JSON", f"/formats.json?{asked.query}")),
        jobs=tuple(Link(job.id[:8], f"/jobs/{job.id}") for job in seen.jobs),
    )


def chart(name: str, selection: Selection, version: int, caption: str) -> Chart:
    """The figure of that name of a selection."""
    return Chart(f"{name}-chart", f"/api/v1/figures/{name}?{selection.query}", str(version), caption)


def _figures(seen: Measured) -> tuple[StudyFigure, ...]:
    """Every figure of the study in the order of FIGURES; hidden where it would say nothing."""
    number = len({m.matrix_id for m in seen.measurements})
    return tuple(_figure(f, seen, number >= f.matrices_min) for f in FIGURES if f.summary)


def _figure(figure: Figure, seen: Measured, enough: bool) -> StudyFigure:
    caption = figure.summary(seen.shown) if figure.summary and enough else ""
    table = figure.table(seen.shown) if figure.table and enough else None
    empty = table is not None and not table.rows
    drawn = chart(figure.name, seen.selection, len(seen.measurements) if enough and not empty else 0, caption)
    return StudyFigure(figure.name, figure.title, caption if empty else "", drawn, None if empty else table)


def _few(figures: Sequence[StudyFigure]) -> str:
    hidden = [f"“{figure.heading}”" for figure in figures if figure.chart.version == "0" and not figure.note]
    return f"{join(hidden)} compare matrices: choose two or more to see them." if hidden else ""


def _structure(session: Session, seen: Measured) -> tuple[Chart, ...]:
    """Spy pictures of the first matrices by ascending sigma; recorded matrices have none."""
    charts: list[Chart] = []
    for matrix_id in _by_sigma(seen):
        row = catalogue.get_matrix(session, matrix_id)
        if row.state == MatrixState.READY and len(charts) < SPIES_MAX:
            known = seen.features[matrix_id]
            caption = f"{known.name}: {units.count(known.nnz)} nonzeros, σ {units.number(known.sigma)}"
            query = Selection(matrix=(matrix_id,)).query
            charts.append(Chart(f"spy-{matrix_id}", f"/api/v1/figures/spy?{query}", row.fingerprint[:12], caption))
    return tuple(charts)


def _features(seen: Measured) -> Table:
    texts = ("rows", "columns", "nnz", "ave", "σ", "max − min")
    known = [seen.features[i] for i in _by_sigma(seen)]
    rows = [
        (
            matrix.name,
            *(units.count(value) for value in (matrix.n_rows, matrix.n_cols, matrix.nnz)),
            *(units.number(value) for value in (matrix.ave, matrix.sigma)),
            units.count(matrix.max_min),
        )
        for matrix in known
    ]
    return Table((Head("matrix", numeric=False), *(Head(text) for text in texts)), tuple(rows))


def _by_sigma(seen: Measured) -> list[str]:
    """The matrices with results by ascending sigma, as the figures have them."""
    return seen.shown.by_sigma(dict.fromkeys(m.matrix_id for m in seen.measurements))


def _switch(asked: Selection, name: str, options: tuple[str, ...], current: tuple[str, ...]) -> tuple[Link, ...]:
    """One address per option; a device's own matrices are chosen anew."""
    reset = {"matrix": ()} if name == "device" else {}
    return tuple(
        Link(option, formats_url(asked.with_(**{name: option}, **reset)), option in current) for option in options
    )


def _matrices(seen: Measured) -> tuple[Choice, ...]:
    """The matrices shown and the newest others: a list that stays readable with hundreds measured."""
    chosen = seen.selection.matrix
    others = [m for m in seen.matrices if m not in chosen]
    left_out = set(others[max(0, CHOICES_MAX - len(chosen)) :])
    offered = dict.fromkeys((*seen.matrices, *chosen))
    return tuple(Choice(m, seen.features[m].name, m in chosen) for m in offered if m not in left_out)


def _every(asked: Selection, seen: Measured) -> tuple[Link, ...]:
    """All matrices measured, as far as an address holds them."""
    every = tuple(dict.fromkeys((*seen.selection.matrix, *seen.matrices)))[:VALUES_MAX]
    if set(every) == set(seen.selection.matrix):
        return ()
    return (Link(f"all {len(every)}", formats_url(asked.with_(matrix=every))),)


def _baselines(seen: Measured, current: str) -> tuple[Choice, ...]:
    timed = {m.kernel for m in seen.measurements if m.median_s}
    ordered = [name for name in BASELINES if name in timed] + sorted(timed.difference(BASELINES))
    return tuple(Choice(kernel, kernel, kernel == current) for kernel in ordered)


def _pair(shown: Shown) -> tuple[Choices, ...]:
    """Two fields of the same name: the first format and the one it is compared with; none for a lone matrix."""
    places = [groups for groups in by_place(shown.measurements).values() if len(groups) > 1]
    known = tuple(dict.fromkeys((*shown.pair, *(name for groups in places for name in formats_of(groups)))))
    if len(known) < 2:
        return ()
    chosen = (*shown.pair, "", "")
    fields = (("pair-first", "Ratio of", "default pairs"), ("pair-second", "over", "every other"))
    return tuple(
        Choices(name, label, (Choice("", unset), *(Choice(f, f, f == chosen[place]) for f in known)))
        for place, (name, label, unset) in enumerate(fields)
    )
