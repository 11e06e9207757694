"""Measurements say their backend and their slowest round; fewer than five rounds have no interval.

The backend of a stored row is that of its device as the tables of devices and recordings know it, else that of the
software which the record names.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

JsonObject = dict[str, Any]

INTERVAL_ROUNDS_MIN = 5
BATCH = 500

ON_GPU = {"compute capability", "CUDA runtime", "cupy"}
ON_CPU = {"numba", "threads", "threading"}


def with_evidence(record: JsonObject, backend: str, samples: list[float]) -> JsonObject:
    """A record in the new shape; backend: of its device, empty where no table knows it."""
    found = dict(record)
    rounds: int | None = record.get("rounds") or len(samples) or None
    found["rounds"] = rounds
    few = rounds is not None and rounds < INTERVAL_ROUNDS_MIN
    if few:
        found["ci_low_s"] = found["ci_high_s"] = None
    found.setdefault("max_s", max(samples) if samples else _greatest(record, rounds) if rounds and few else None)
    found.setdefault("backend", backend or _backend(record))
    return found


def without_evidence(record: JsonObject, backend: str, samples: list[float]) -> JsonObject:  # noqa: ARG001
    """The inverse, as far as there is one: an interval of a few rounds stays away."""
    return {name: value for name, value in record.items() if name not in ("max_s", "backend")}


def _backend(record: JsonObject) -> str:
    environment = (record.get("environment") or {}).keys()
    if environment & ON_GPU:
        return "cuda"
    return "cpu" if environment & ON_CPU or record.get("device") == "cpu" else "cuda"


def _greatest(record: JsonObject, rounds: int) -> float | None:
    """The slowest of a few rounds, which their quartiles determine."""
    least, q1, median, q3 = (record.get(name) for name in ("min_s", "q1_s", "median_s", "q3_s"))
    if median is None or least is None or q1 is None or q3 is None:
        return None
    second = (4 * q1 - least) / 3
    third = 2 * median - second
    of_rounds = {1: median, 2: 2 * median - least, 3: 2 * q3 - median, 4: 4 * q3 - 3 * third}
    return max(float(of_rounds[rounds]), float(q3))


def upgrade() -> None:
    _rewrite(with_evidence)
    # What a running job says of its rounds has another shape, and is said anew every second.
    jobs = sa.table("jobs", sa.column("interim", sa.JSON()))
    op.get_bind().execute(sa.update(jobs).values(interim=[]))


def downgrade() -> None:
    _rewrite(without_evidence)
    jobs = sa.table("jobs", sa.column("interim", sa.JSON()))
    op.get_bind().execute(sa.update(jobs).values(interim=[]))


def _rewrite(shape: Callable[[JsonObject, str, list[float]], JsonObject]) -> None:
    connection = op.get_bind()
    devices = sa.table("devices", sa.column("id"), sa.column("info", sa.JSON()))
    recordings = sa.table("recordings", sa.column("id"), sa.column("info", sa.JSON()))
    backends = _backends(devices)
    measurements = _table("measurements", record=sa.JSON(), samples_s=sa.JSON())
    for number, record, samples in _rows(measurements, "record", "samples_s"):
        changed = shape(record, backends.get(record.get("device"), ""), samples if isinstance(samples, list) else [])
        connection.execute(sa.update(measurements).where(measurements.c.id == number).values(record=changed))
    events = _table("events", "kind", data=sa.JSON())
    for number, data in _rows(events, "data", where=events.c.kind == "measurement"):
        if "measurement" in data:
            record = data["measurement"]
            changed = data | {"measurement": shape(record, backends.get(record.get("device"), ""), [])}
            connection.execute(sa.update(events).where(events.c.id == number).values(data=changed))
    recorded = _backends(recordings)
    results = _table("recorded_results", "recording_id", measurements=sa.JSON())
    for number, recording_id, records in _rows(results, "recording_id", "measurements"):
        shaped = [shape(record, recorded.get(recording_id, ""), []) for record in records]
        connection.execute(sa.update(results).where(results.c.id == number).values(measurements=shaped))


def _backends(table: sa.TableClause) -> Mapping[str, str]:
    """Id → the backend of what a row says of its device."""
    rows = op.get_bind().execute(sa.select(table.c.id, table.c.info))
    return {key: (info or {}).get("backend", "") for key, info in rows}


def _table(name: str, *columns: str, **typed: Any) -> sa.TableClause:
    json = [sa.column(column, kind) for column, kind in typed.items()]
    return sa.table(name, sa.column("id"), *(sa.column(column) for column in columns), *json)


def _rows(table: sa.TableClause, *columns: str, where: Any = None) -> Iterator[tuple[Any, ...]]:
    """(id, values of the columns) of each row, a few at a time: all of them may not fit the memory."""
    last = -1
    while True:
        query = sa.select(table.c.id, *(table.c[column] for column in columns)).where(table.c.id > last)
        if where is not None:
            query = query.where(where)
        rows = op.get_bind().execute(query.order_by(table.c.id).limit(BATCH)).all()
        yield from (tuple(row) for row in rows)
        if not rows:
            return
        last = rows[-1][0]
