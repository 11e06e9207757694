"""Devices that workers offer, with the bandwidth measured on them."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from gpu_engine.errors import ConflictError, EngineUnavailableError, UnavailableError, UnknownDeviceError, quote
from gpu_engine.records import BACKENDS, Backend, DeviceInfo, DeviceProfile, as_json, profile_from_json
from server import engine_faults
from server.db import Database, clock
from server.models import DeviceRow

ALIVE_S = 60.0
"""Seconds without a heartbeat after which `auto` does not choose a device.

A heartbeat from the future counts as missing too: the clock was set back, and the dispatcher has been silent since.
"""

HEARTBEAT_S = 10.0
"""Longest interval between heartbeats of a running worker, in seconds."""

QUIET_S = 2 * HEARTBEAT_S
"""Seconds without a heartbeat after which a worker may have ended."""

PROFILE_AGE = timedelta(days=1)
"""Age after which a bandwidth is measured again."""

AUTO = "auto"

RECORDED = "recorded:"
"""Prefix of the ids of devices that only have reference results."""


def register(database: Database, devices: Sequence[DeviceInfo], owner: str = "", dead: Collection[str] = ()) -> None:
    """Offer these devices from now on. A profile of other hardware with the same id is deleted.

    owner  dispatcher that offers them; dead  dispatchers that are known to have ended
    Raises ConflictError if another running dispatcher offers one of them.
    """
    with database.write() as session:
        now = session.execute(select(clock())).scalar_one()
        for device in sorted(devices, key=lambda device: device.id):
            row = session.get(DeviceRow, device.id, with_for_update=True)
            row = row or DeviceRow(id=device.id, profile={}, owner="", seen_at=0.0)
            if row.owner not in ("", owner, *dead) and abs(now - row.seen_at) < ALIVE_S:
                raise _taken_error(device.id)
            if row.profile and row.profile["name"] != device.name:
                row.profile = {}
            row.info, row.owner, row.seen_at = as_json(device), owner, now
            session.add(row)


def touch(session: Session, device_ids: Sequence[str], owner: str = "") -> None:
    """Record a heartbeat of the dispatcher of these devices. Raises ConflictError if another one has taken one over."""
    ours = _lock_offered(session, device_ids, owner)
    session.execute(update(DeviceRow).where(DeviceRow.id.in_(ours)).values(seen_at=clock()))
    for device_id in device_ids:
        if device_id not in ours:
            raise _taken_error(device_id)


def withdraw(database: Database, device_ids: Sequence[str], owner: str = "") -> None:
    """Record that the dispatcher of these devices has stopped; they stay known."""
    with database.write() as session:
        ours = _lock_offered(session, device_ids, owner)
        session.execute(update(DeviceRow).where(DeviceRow.id.in_(ours)).values(seen_at=0.0))


def list_devices(session: Session) -> list[DeviceRow]:
    """Return every device ever offered: GPUs first, and clusters after the devices of single hosts."""
    rows = session.scalars(select(DeviceRow).order_by(DeviceRow.id)).all()
    return sorted(rows, key=lambda row: (row.info["backend"] != "cuda", bool(row.info.get("hosts"))))


def name_of(row: DeviceRow) -> str:
    """Return the name of a device for people: `CPU`, or the model of a GPU with its id."""
    name = "CPU" if row.info["backend"] == "cpu" else str(row.info["name"])
    return name if row.id == "cpu" else f"{name} ({row.id})"


def alive(session: Session, rows: Sequence[DeviceRow]) -> set[str]:
    """Return the ids of the devices on which a queued job would run now."""
    now = session.execute(select(clock())).scalar_one()
    faulty = engine_faults.by_device(session)
    return {row.id for row in rows if abs(now - row.seen_at) < ALIVE_S and row.id not in faulty}


def quiet(session: Session, rows: Sequence[DeviceRow]) -> dict[str, float]:
    """Return the seconds since the last heartbeat of each available device that has missed two heartbeats."""
    now = session.execute(select(clock())).scalar_one()
    available = alive(session, rows)
    return {row.id: now - row.seen_at for row in rows if row.id in available and now - row.seen_at > QUIET_S}


def waiting_reasons(session: Session, ids: Collection[str]) -> dict[str, str]:
    """Return why queued jobs of these devices do not start, by device. Devices that run jobs are left out."""
    rows = session.scalars(select(DeviceRow).where(DeviceRow.id.in_(ids))).all()
    faulty, offered_now = engine_faults.by_device(session), alive(session, rows)
    names = {row.id: name_of(row) for row in rows}
    reason = "is unavailable: no worker offers it. Start the worker of its host."
    silent = {i: f"{names.get(i, i)} {reason}" for i in ids}
    faults = {i: engine_faults.describe(faulty[i]) for i in ids if i in faulty}
    return {i: text for i, text in (silent | faults).items() if i not in offered_now}


def none_offered(session: Session) -> UnavailableError:
    """Return the error that says why no device is available."""
    if faults := engine_faults.list_faults(session):
        return EngineUnavailableError(" ".join(map(engine_faults.describe, faults)))
    return UnavailableError(
        "No device is available. Start a worker with the settings of the server: `sparsight worker`."
    )


def device_info(row: DeviceRow) -> DeviceInfo:
    """Return the device as the engine describes it."""
    return DeviceInfo(**row.info | {"hosts": tuple(row.info.get("hosts", ()))})


def offered(session: Session) -> list[DeviceInfo]:
    """Return the available devices in the order of `list_devices`."""
    rows = list_devices(session)
    known = alive(session, rows)
    return [device_info(row) for row in rows if row.id in known]


def fresh_profile(session: Session, device_id: str) -> DeviceProfile | None:
    """Return the bandwidth measured within PROFILE_AGE, or None; a clock may have been set back."""
    row = session.get(DeviceRow, device_id)
    if row is None or not row.profile:
        return None
    profile = profile_from_json(row.profile)
    age = datetime.now(UTC) - datetime.fromisoformat(profile.measured_at)
    return profile if abs(age) < PROFILE_AGE else None


def store_profile(session: Session, profile: DeviceProfile) -> None:
    """Store a measured bandwidth with its device."""
    session.execute(update(DeviceRow).where(DeviceRow.id == profile.device).values(profile=as_json(profile)))


def resolve(session: Session, name: str, several: bool = False, backends: Collection[Backend] = BACKENDS) -> DeviceInfo:
    """Return the device of that name; `auto` is the first available GPU, or else the CPU.

    several   `auto` takes all GPUs of a host if it has more than one, but never those of several hosts
    backends  `auto` prefers available devices of these

    Raises UnknownDeviceError with the known names. Raises UnavailableError if `auto` finds none available, and if no
    worker has ever offered a device, so that the name cannot be checked.
    """
    rows = list_devices(session)
    known = ", ".join([AUTO, *(row.id for row in rows)])
    if name.startswith(RECORDED):
        raise UnknownDeviceError(
            f"{quote(name)} only has reference results; jobs cannot run on it. Available devices: {known}."
        )
    candidates = offered(session) if name == AUTO else [device_info(row) for row in rows]
    if not candidates:
        raise none_offered(session)
    if name == AUTO:
        fitting = [device for device in candidates if device.backend in backends and not device.hosts]
        together = (device for device in fitting if several and device.is_several)
        return next(together, None) or next(device for device in (*fitting, *candidates) if not device.is_several)
    for device in candidates:
        if device.id == name:
            return device
    raise UnknownDeviceError(f"Unknown device {quote(name)}. Available devices: {known}.")


def _lock_offered(session: Session, device_ids: Sequence[str], owner: str) -> Sequence[str]:
    """Lock the rows of these devices that only this owner offers, and return them."""
    mine = DeviceRow.id.in_(device_ids), DeviceRow.owner.in_(("", owner))
    return session.scalars(select(DeviceRow.id).where(*mine).order_by(DeviceRow.id).with_for_update()).all()


def _taken_error(device_id: str) -> ConflictError:
    return ConflictError(
        f"Another worker already offers the device {quote(device_id)} in this database. Give each "
        f"host its own SPARSIGHT_HOST_NAME. If that worker is gone, wait {ALIVE_S:.0f} s."
    )
