"""What the pages of studies share: their figures, and the choices of device and matrices."""

from collections.abc import Iterable, Sequence

from sqlalchemy.orm import Session

from server import catalogue
from server.models import MatrixState
from web import units
from web.comparison import join
from web.figures import FIGURES, Figure, Needs
from web.figures.base import Head, Table
from web.measured import Measured
from web.parts import Chart, Choice, Link, StudyFigure
from web.selection import NAMES, VALUES_MAX, Selection
from web.shown import Shown
from web.views.lines import study_url

CHOICES_MAX = 24
"""Most matrices offered beside each other; the others have their own pages."""

PICTURES_MAX = 6


def chart(name: str, selection: Selection, version: int, caption: str) -> Chart:
    """The figure of that name of a selection."""
    return Chart(f"{name}-chart", f"/api/v1/figures/{name}?{selection.query}", str(version), caption)


def figures(needs: Needs, seen: Measured, shown: Shown) -> tuple[StudyFigure, ...]:
    """Every figure of a study in the order of FIGURES; hidden where it would say nothing."""
    number = len({m.matrix_id for m in seen.measurements})
    return tuple(_figure(f, seen, shown, number >= f.matrices_min) for f in FIGURES if f.needs == needs)


def _figure(figure: Figure, seen: Measured, shown: Shown, enough: bool) -> StudyFigure:
    caption = figure.summary(shown) if figure.summary and enough else ""
    table = figure.table(shown) if figure.table and enough else None
    empty = table is not None and not table.rows
    drawn = chart(figure.name, seen.selection, len(seen.measurements) if enough and not empty else 0, caption)
    return StudyFigure(figure.name, figure.title, caption if empty else "", drawn, None if empty else table)


def few(figures: Sequence[StudyFigure]) -> str:
    """A sentence on the figures that need more matrices than are chosen."""
    hidden = [f"“{figure.heading}”" for figure in figures if figure.chart.version == "0" and not figure.note]
    return f"{join(hidden)} compare matrices: choose two or more to see them." if hidden else ""


def pictures(session: Session, seen: Measured, name: str) -> tuple[Chart, ...]:
    """The figure of that name of the first matrices by ascending sigma; recorded matrices have none."""
    charts: list[Chart] = []
    for matrix_id in by_sigma(seen):
        row = catalogue.get_matrix(session, matrix_id)
        if row.state == MatrixState.READY and len(charts) < PICTURES_MAX:
            known = seen.features[matrix_id]
            caption = f"{known.name}: {units.count(known.nnz)} nonzeros, σ {units.number(known.sigma)}"
            query = Selection(matrix=(matrix_id,)).query
            charts.append(
                Chart(f"{name}-{matrix_id}", f"/api/v1/figures/{name}?{query}", row.fingerprint[:12], caption)
            )
    return tuple(charts)


def features(seen: Measured) -> Table:
    """What is known of the matrices with results."""
    texts = ("rows", "columns", "nnz", "ave", "σ", "max − min")
    known = [seen.features[i] for i in by_sigma(seen)]
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


def by_sigma(seen: Measured) -> list[str]:
    """The matrices with results by ascending sigma, as the figures have them."""
    return seen.shown.by_sigma(dict.fromkeys(m.matrix_id for m in seen.measurements))


def switch(
    study: str, asked: Selection, name: str, options: tuple[str, ...], current: tuple[str, ...]
) -> tuple[Link, ...]:
    """One address per option; a device's own matrices are chosen anew."""
    reset = {"matrix": ()} if name == "device" else {}
    return tuple(
        Link(option, study_url(study, asked.with_(**{name: option}, **reset)), option in current) for option in options
    )


def matrices(seen: Measured) -> tuple[Choice, ...]:
    """The matrices shown and the newest others: a list that stays readable with hundreds measured."""
    chosen = seen.selection.matrix
    others = [m for m in seen.matrices if m not in chosen]
    left_out = set(others[max(0, CHOICES_MAX - len(chosen)) :])
    offered = dict.fromkeys((*seen.matrices, *chosen))
    return tuple(Choice(m, seen.features[m].name, m in chosen) for m in offered if m not in left_out)


def every(asked: Selection, seen: Measured) -> tuple[Link, ...]:
    """All matrices measured, as far as an address holds them."""
    ids = tuple(dict.fromkeys((*seen.selection.matrix, *seen.matrices)))[:VALUES_MAX]
    if set(ids) == set(seen.selection.matrix):
        return ()
    return (Link(f"all {len(ids)}", study_url(seen.study, asked.with_(matrix=ids))),)


def topics(seen: Measured) -> str:
    """The events that change the page: those of the jobs under way."""
    return ",".join(f"job:{job.id}" for job in seen.jobs if job.finished_at is None)


def kept(asked: Selection, form: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """What the address says beside the choices of a form."""
    return tuple((name, value) for name in NAMES if name not in form for value in getattr(asked, name))


def on_cpu(seen: Measured) -> bool:
    """Whether some of the results are of a CPU."""
    # With several workers a device carries the name of its host: `gpu1/cpu`.
    return any(m.device.endswith("cpu") for m in seen.measurements)


def downloads(study: str, asked: Selection) -> tuple[Link, ...]:
    """The records of a page as files."""
    return tuple(Link(kind.upper(), f"/{study}.{kind}?{asked.query}") for kind in ("csv", "json"))


def sources(seen: Measured) -> tuple[Link, ...]:
    """The jobs behind a page."""
    return tuple(Link(job.id[:8], f"/jobs/{job.id}") for job in seen.jobs)
