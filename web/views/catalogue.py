"""`/matrices`: all matrices with search, facets, and their fastest kernels; generators."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlencode

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from gpu_engine.generators import GENERATORS, Generator
from gpu_engine.text import units
from gpu_engine.text.words import amount
from server import catalogue, first_start, matrix_lifecycle, matrix_sets, recorded_results
from server.documents import MATRICES_MAX
from server.models import JobRow, MatrixRow, MatrixState, MeasurementRow, RecordedResultsRow, RecordingRow
from web.components import Choice, Choices, Column, Link, LinkSwitch
from web.device_labels import CPU, THIS_CPU, short
from web.forms import form_fields
from web.matrix_contexts import CatalogueRowView, GeneratorForm, MatricesPage, MatrixSet
from web.palette import mark_of
from web.recorded import recorded_formats
from web.results import device_names, results_of
from web.selection import Selection, study_url
from web.studies import PAGES
from web.studies.formats import FORMATS
from web.views.list_rows import matrix_row

PAGE = 50
COLUMNS = (
    ("name", "name", False),
    ("nnz", "nonzeros", True),
    ("n_rows", "rows × columns", True),
    ("ave", "mean row", True),
    ("sigma", "σ", True),
    ("max", "longest row", True),
    ("", "fastest SpMV kernel", False),
    ("", "measured on", False),
    ("created_at", "added, UTC", False),
)
"""Columns: (sort key or empty, heading, whether numeric)."""

SOURCES = {"mine": "with values", "recorded": "reference results", "all": "all"}
FACETS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "shape": ("Shape", {"symmetric": "symmetric", "square": "square", "rectangular": "not square"}),
    "nnz": ("Nonzeros", {"under-100k": "under 100,000", "100k-10m": "100,000 to 10 M", "over-10m": "over 10 M"}),
    "kind": ("Kind", {"upload": "uploaded", "generated": "generated", "collection": "SuiteSparse"}),
    "results": ("With results of", {page.name: page.link for page in PAGES}),
}
"""Parameter → its label and the labels of its values."""

OPTIONS = ("q", "sort", "cursor", "source", *FACETS, "set", "generator")
SETS_SHOWN = 12


def page(session: Session, options: Mapping[str, str]) -> MatricesPage:
    """Return the page of matrices for OPTIONS, where empty means the default; raises ParameterError for bad values."""
    order = options["sort"] or catalogue.SORT_DEFAULT
    view = {name: options[name] for name in OPTIONS if name not in ("cursor", "generator")}
    chosen = _set(session, options["set"]) if options["set"] else None
    source = options["source"] or ("mine" if _has_values(session) and not chosen else "all")
    filters = {"source": source} | {name: options[name] for name in FACETS}
    of_set = chosen.matrix_ids if chosen else None
    rows = catalogue.list_matrices(
        session,
        options["q"],
        order,
        MATRICES_MAX if chosen else PAGE,
        options["cursor"] or None,
        True,
        of_set,
        **filters,
    )
    generator = next((f for f in GENERATORS if f.name == options["generator"]), GENERATORS[0])
    return MatricesPage(
        title="Matrices",
        topics="matrices",
        q=options["q"],
        sort=options["sort"],
        sources=LinkSwitch(
            "Show", tuple(Link(text, _url(view | {"source": key}), key == source) for key, text in SOURCES.items())
        ),
        source=options["source"],
        facets=tuple(_facet(name, options[name]) for name in FACETS),
        filtered=any(options[name] for name in ("q", "source", "set", *FACETS)),
        columns=tuple(_column(view, order, *column) for column in COLUMNS),
        matrices=_rows(session, rows.items),
        first=_url(view) if options["cursor"] else "",
        next=_url(view | {"cursor": rows.next}) if rows.next else "",
        generator=options["generator"],
        generators=tuple(_generator_form(f, f is generator) for f in GENERATORS),
        sets=_sets(session, options["set"]),
        set=chosen,
        counts=_counts(session),
        elsewhere=() if rows.items else tuple(_elsewhere(session, view, options, source)),
    )


def _elsewhere(session: Session, view: Mapping[str, str], options: Mapping[str, str], source: str) -> Iterator[Link]:
    """Yield links to the same filters among other matrices, with the numbers that match."""
    facets = {name: options[name] for name in FACETS}
    for key, text in SOURCES.items():
        if key in (source, "all"):
            continue
        matches = catalogue.list_matrices(session, options["q"], limit=PAGE, recorded=True, source=key, **facets)
        more = "over " if matches.next else ""
        if matches.items:
            among = "the reference results" if key == "recorded" else f"matrices {text}"
            yield Link(f"{more}{len(matches.items)} among {among}", _url({**view, "source": key}))


def _sets(session: Session, chosen: str) -> tuple[Link, ...]:
    """Return the newest saved selections, with a link to all matrices."""
    rows = matrix_sets.list_sets(session)[:SETS_SHOWN]
    links = (Link(f"{row.name} ({len(row.matrix_ids)})", _url({"set": row.id}), row.id == chosen) for row in rows)
    return (Link("none", "/matrices", not chosen), *links) if rows else ()


def _set(session: Session, set_id: str) -> MatrixSet:
    row = matrix_sets.get_set(session, set_id)
    ids = matrix_sets.members(session, row)
    pages = (Link(page.link, study_url(page.name, Selection(set=(row.id,)))) for page in PAGES)
    measure = Link("Measure", f"/measure?{urlencode([('matrix_ids', matrix_id) for matrix_id in ids])}")
    return MatrixSet(row.id, row.name, ids, (*pages, measure), len(row.matrix_ids) - len(ids))


def measured_on(session: Session, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the devices with formats results by matrix id, devices of this server first."""
    every = {matrix_id: _with_formats(studies) for matrix_id, studies in studies_on(session, ids).items()}
    return {matrix_id: devices for matrix_id, devices in every.items() if devices}


def studies_on(session: Session, ids: Sequence[str]) -> dict[str, dict[str, set[str]]]:
    """Return the studies with results by matrix id and device, devices of this server first."""
    here = (
        select(MeasurementRow.matrix_id, MeasurementRow.device, JobRow.study)
        .join(JobRow, JobRow.id == MeasurementRow.job_id)
        .where(MeasurementRow.matrix_id.in_(ids))
        .distinct()
    )
    elsewhere = (
        select(MatrixRow.id, RecordingRow.device, RecordingRow.study)
        .join(RecordedResultsRow, RecordedResultsRow.fingerprint == MatrixRow.fingerprint)
        .join(RecordingRow, RecordingRow.id == RecordedResultsRow.recording_id)
        .where(MatrixRow.id.in_(ids))
    )
    by_matrix: dict[str, dict[str, set[str]]] = {}
    for query in (here, elsewhere):
        for matrix_id, device, study in sorted((row[0], row[1], row[2]) for row in session.execute(query)):
            by_matrix.setdefault(matrix_id, {}).setdefault(device, set()).add(study)
    return by_matrix


def _with_formats(studies_by_device: Mapping[str, set[str]]) -> tuple[str, ...]:
    return tuple(device for device, studies in studies_by_device.items() if FORMATS.name in studies)


def _devices_text(studies_by_device: Mapping[str, set[str]], names: Mapping[str, str]) -> str:
    """Return the devices with formats results, and all others with the names of their studies: `H200 (Solvers)`."""
    texts = []
    for device in dict.fromkeys((*_with_formats(studies_by_device), *studies_by_device)):
        studies = [page.link for page in PAGES if page.name in studies_by_device[device]]
        name = THIS_CPU if device == CPU else short(names.get(device, device))
        texts.append(name if FORMATS.name in studies_by_device[device] else f"{name} ({', '.join(studies)})")
    return ", ".join(texts)


def _counts(session: Session) -> str:
    """Return how many matrices of the user, samples, and matrices without values there are, as a sentence."""
    recorded = MatrixRow.state == MatrixState.RECORDED
    reference, here = (
        session.scalar(select(func.count()).select_from(MatrixRow).where(each)) or 0 for each in (recorded, ~recorded)
    )
    names = [name for name, _, _ in first_start.SAMPLES]
    named = session.scalars(select(MatrixRow.source).where(~recorded, MatrixRow.name.in_(names)))
    samples = sum(map(first_start.is_sample, named))
    mine = f"{amount(here - samples, 'matrix', 'matrices')} of yours" if here > samples or not samples else ""
    texts = (
        mine,
        amount(samples, "sample") if samples else "",
        f"{units.count(reference)} with reference results" if reference else "",
    )
    return f"{', '.join(filter(None, texts))}." if here or reference else "No matrix yet."


def _has_values(session: Session) -> bool:
    return session.scalar(select(MatrixRow.id).where(MatrixRow.state != MatrixState.RECORDED).limit(1)) is not None


def _rows(session: Session, rows: Sequence[MatrixRow]) -> tuple[CatalogueRowView, ...]:
    studies_of = studies_on(session, [row.id for row in rows])
    devices_of = {matrix_id: devices for matrix_id, of in studies_of.items() if (devices := _with_formats(of))}
    leaders = _leaders(session, devices_of)
    names = device_names(session)
    return tuple(
        CatalogueRowView(
            matrix_row(row),
            f"/matrices/{row.id}/spy.png?{row.fingerprint[:12]}" if row.state == MatrixState.READY else "",
            leaders.get(row.id, ""),
            mark_of(leaders[row.id]) if row.id in leaders else ("", ""),
            _devices_text(studies_of.get(row.id, {}), names),
        )
        for row in rows
    )


def _leaders(session: Session, devices_of: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the fastest kernel by matrix id: warm cache, first device with results, no noisy timings."""
    recorded = recorded_formats(session)
    leaders = {m: recorded.leaders[m] for m in devices_of if m in recorded.leaders} if recorded else {}
    for device in sorted({names[0] for names in devices_of.values()}):
        ids = tuple(m for m, names in devices_of.items() if names[0] == device and m not in leaders)
        if ids:
            results = results_of(session, FORMATS.name, Selection(matrix=ids, device=(device,)))
            leaders |= {f.matrix_id: f.leaders[0] for f in FORMATS.findings(results.data) if f.leaders}
    return leaders


def _facet(name: str, chosen: str) -> Choices:
    label, values = FACETS[name]
    options = (("", "any"), *values.items())
    return Choices(name, name, label, tuple(Choice(value, text, value == chosen) for value, text in options))


def _generator_form(generator: Generator, chosen: bool) -> GeneratorForm:
    expected = generator.estimate_nnz(generator.Params())
    return GeneratorForm(
        generator.name, generator.summary, form_fields(generator.Params), expectation(expected), chosen
    )


def expectation(nnz: int) -> str:
    """Return the expected size of a generated matrix as text; static/generate.js has the same format."""
    return f"About {units.count(nnz)} nonzeros, {units.size(matrix_lifecycle.ENTRY_BYTES * nnz)} of columns and values."


def _column(view: Mapping[str, str], order: str, key: str, text: str, numeric: bool) -> Column:
    if not key:
        return Column(text, "", "", numeric)
    current = {key: "ascending", f"-{key}": "descending"}.get(order, "")
    # Numbers begin with the largest, names with A.
    descending = current == "ascending" or (current == "" and key != "name")
    return Column(text, _url({**view, "sort": f"-{key}" if descending else key}), current, numeric)


def _url(query: Mapping[str, str]) -> str:
    given = urlencode({name: value for name, value in query.items() if value})
    return f"/matrices?{given}" if given else "/matrices"


def all_devices(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return all devices of these groups once, devices of this server first."""
    devices = dict.fromkeys(device for group in groups for device in group)
    return tuple(sorted(devices, key=recorded_results.is_recorded))
