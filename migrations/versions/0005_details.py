"""Measurements in one shape: what all studies say, the axes of the case, and the details of one study.

An iteration that did not converge, which only its note told, becomes a state.
"""

from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

JsonObject = dict[str, Any]

CONVERSION = ("convert_s", "convert_peak_bytes")
RUN = ("iterations", "iterations_by_segments", "phases_s", "residual", "mass_error")
DETAILS: dict[str, tuple[str, ...]] = {
    "formats": (*CONVERSION, "order_s", "permute_s"),
    "pagerank": (*RUN, "distance", "overlap", "top_pages", "top_ranks"),
    "batched": ("problems", "vector_bytes", *CONVERSION),
    "scaling": ("partitioning", "strategy", "devices", "entries_by_device", "exchanged_bytes", *RUN),
}
"""Study → the fields that only its measurements have."""

LEFT: JsonObject = {
    **dict.fromkeys((*CONVERSION, "order_s", "permute_s", "residual", "mass_error", "distance", "overlap")),
    **dict.fromkeys(("iterations", "problems", "vector_bytes", "devices", "exchanged_bytes")),
    **{name: [] for name in ("iterations_by_segments", "top_pages", "top_ranks", "entries_by_device")},
    "phases_s": {},
    "partitioning": "",
    "strategy": "",
}
"""What a measurement of another study said in these fields before."""

UNCONVERGED = "γ is "
"""How the note of an iteration that did not converge begins."""

BATCH = 500


def nested(record: JsonObject, study: str) -> JsonObject:
    """A flat record of a study in the new shape."""
    if "details" in record:
        return record
    own = {name: value for name, value in record.items() if name not in LEFT}
    axes = (axis.partition("=") for axis in record["case"].rpartition("|")[2].split(",") if axis)
    names = DETAILS.get(study, ())
    found = {"study": study, "axes": {name: value for name, _, value in axes}}
    found["details"] = {name: record[name] for name in names if name in record}
    if record["state"] == "ok" and record.get("note", "").startswith(UNCONVERGED):
        found["state"] = "unconverged"
    return own | found


def flat(record: JsonObject, study: str) -> JsonObject:  # noqa: ARG001 (as `nested`)
    """The inverse."""
    if "details" not in record:
        return record
    own = {name: value for name, value in record.items() if name not in ("study", "axes", "details")}
    own["state"] = "ok" if record["state"] == "unconverged" else record["state"]
    details: JsonObject = record["details"]
    return own | LEFT | details


def upgrade() -> None:
    with op.batch_alter_table("measurements") as batch:
        batch.alter_column("state", existing_type=sa.String(length=8), type_=sa.String(length=16))
    _rewrite(nested)


def downgrade() -> None:
    _rewrite(flat)
    with op.batch_alter_table("measurements") as batch:
        batch.alter_column("state", existing_type=sa.String(length=16), type_=sa.String(length=8))


def _rewrite(shape: Callable[[JsonObject, str], JsonObject]) -> None:
    jobs = sa.table("jobs", sa.column("id"), sa.column("study"))
    measurements = _table("measurements", "job_id", "state", record=sa.JSON())
    events = _table("events", "topic", "kind", data=sa.JSON())
    recordings = sa.table("recordings", sa.column("id"), sa.column("study"))
    results = _table("recorded_results", "recording_id", measurements=sa.JSON())
    connection = op.get_bind()
    for number, study, record in _rows(measurements, measurements.c.job_id == jobs.c.id, jobs.c.study, "record"):
        changed = shape(record, study)
        values = {"record": changed, "state": changed["state"]}
        connection.execute(sa.update(measurements).where(measurements.c.id == number).values(values))
    of_job = (events.c.topic == "job:" + jobs.c.id) & (events.c.kind == "measurement")
    for number, study, data in _rows(events, of_job, jobs.c.study, "data"):
        if "measurement" in data:
            values = {"data": data | {"measurement": shape(data["measurement"], study)}}
            connection.execute(sa.update(events).where(events.c.id == number).values(values))
    for number, study, records in _rows(
        results, results.c.recording_id == recordings.c.id, recordings.c.study, "measurements"
    ):
        values = {"measurements": [shape(record, study) for record in records]}
        connection.execute(sa.update(results).where(results.c.id == number).values(values))


def _table(name: str, *columns: str, **typed: Any) -> sa.TableClause:
    json = [sa.column(column, kind) for column, kind in typed.items()]
    return sa.table(name, sa.column("id"), *(sa.column(column) for column in columns), *json)


def _rows(table: sa.TableClause, joined: Any, study: Any, column: str) -> Iterator[tuple[int, str, Any]]:
    """(id, study, value of the column) of each row, a few at a time: all of them may not fit the memory."""
    last = -1
    while True:
        query = sa.select(table.c.id, study, table.c[column]).where(joined, table.c.id > last)
        rows = op.get_bind().execute(query.order_by(table.c.id).limit(BATCH)).all()
        yield from (tuple(row) for row in rows)
        if not rows:
            return
        last = rows[-1][0]
