"""Devices: what dispatchers offer to measure on, remembered with the bandwidth measured there."""

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
"""A device whose dispatcher has been silent this long is not offered by `auto`.

So is one that was heard of later than now: the clock was put back, and its dispatcher has not spoken since.
"""

PROFILE_AGE = timedelta(days=1)
"""A bandwidth measured longer ago is measured again."""

AUTO = "auto"

RECORDED = "recorded:"
"""How the ids begin of devices that are not here, whose results came with a recording."""


def register(database: Database, devices: Sequence[DeviceInfo], owner: str = "", dead: Collection[str] = ()) -> None:
    """Offers these devices from now on; a profile of other hardware under the same id is forgotten.

    owner  the dispatcher that offers them; dead  those that are known to have ended
    Raises ConflictError where another dispatcher that lives offers one of them.
    """
    with database.write() as session:
        now = session.execute(select(clock())).scalar_one()
        for device in sorted(devices, key=lambda device: device.id):
            row = session.get(DeviceRow, device.id, with_for_update=True)
            row = row or DeviceRow(id=device.id, profile={}, owner="", seen_at=0.0)
            if row.owner not in ("", owner, *dead) and abs(now - row.seen_at) < ALIVE_S:
                raise _taken(device.id)
            if row.profile and row.profile["name"] != device.name:
                row.profile = {}
            row.info, row.owner, row.seen_at = as_json(device), owner, now
            session.add(row)


def touch(session: Session, device_ids: Sequence[str], owner: str = "") -> None:
    """Notes that the dispatcher of these devices lives; raises ConflictError where another has taken one over."""
    ours = _lock_offered(session, device_ids, owner)
    session.execute(update(DeviceRow).where(DeviceRow.id.in_(ours)).values(seen_at=clock()))
    for device_id in device_ids:
        if device_id not in ours:
            raise _taken(device_id)


def withdraw(database: Database, device_ids: Sequence[str], owner: str = "") -> None:
    """Notes that the dispatcher of these devices has stopped; they stay known."""
    with database.write() as session:
        ours = _lock_offered(session, device_ids, owner)
        session.execute(update(DeviceRow).where(DeviceRow.id.in_(ours)).values(seen_at=0.0))


def list_devices(session: Session) -> list[DeviceRow]:
    """Every device ever offered: GPUs first, and clusters after the devices that are of one host."""
    rows = session.scalars(select(DeviceRow).order_by(DeviceRow.id)).all()
    return sorted(rows, key=lambda row: (row.info["backend"] != "cuda", bool(row.info.get("hosts"))))


def alive(session: Session, rows: Sequence[DeviceRow]) -> set[str]:
    """The ids of those of the devices on which a queued job would run now."""
    now = session.execute(select(clock())).scalar_one()
    faulty = engine_faults.by_device(session)
    return {row.id for row in rows if abs(now - row.seen_at) < ALIVE_S and row.id not in faulty}


def waiting_reasons(session: Session, ids: Collection[str]) -> dict[str, str]:
    """Return why queued jobs of these devices do not come to their turn; a device that runs jobs is not among them."""
    rows = session.scalars(select(DeviceRow).where(DeviceRow.id.in_(ids))).all()
    faulty, offered_now = engine_faults.by_device(session), alive(session, rows)
    silent = {i: f"No worker offers the device {i} now. Start the worker of its host." for i in ids}
    told = {i: engine_faults.describe(faulty[i]) for i in ids if i in faulty}
    return {i: text for i, text in (silent | told).items() if i not in offered_now}


def none_offered(session: Session) -> UnavailableError:
    """Return the error that says why no device is offered."""
    if faults := engine_faults.list_faults(session):
        return EngineUnavailableError(" ".join(map(engine_faults.describe, faults)))
    return UnavailableError("No worker offers a device now. Start one with `sparsight worker`, then try again.")


def device_info(row: DeviceRow) -> DeviceInfo:
    """The device as the engine knows it."""
    return DeviceInfo(**row.info | {"hosts": tuple(row.info.get("hosts", ()))})


def offered(session: Session) -> list[DeviceInfo]:
    """The devices that a worker offers now, in the order of `list_devices`."""
    rows = list_devices(session)
    known = alive(session, rows)
    return [device_info(row) for row in rows if row.id in known]


def fresh_profile(session: Session, device_id: str) -> DeviceProfile | None:
    """The bandwidth measured within a day of now, None where there is none: a clock may have been put back."""
    row = session.get(DeviceRow, device_id)
    if row is None or not row.profile:
        return None
    profile = profile_from_json(row.profile)
    age = datetime.now(UTC) - datetime.fromisoformat(profile.measured_at)
    return profile if abs(age) < PROFILE_AGE else None


def store_profile(session: Session, profile: DeviceProfile) -> None:
    """Keeps a measured bandwidth with its device."""
    session.execute(update(DeviceRow).where(DeviceRow.id == profile.device).values(profile=as_json(profile)))


def resolve(session: Session, name: str, several: bool = False, backends: Collection[Backend] = BACKENDS) -> DeviceInfo:
    """The device of that name; `auto` is the first GPU alive, then the CPU.

    several   `auto` takes the GPUs of a host together where it has more than one, those of several hosts never
    backends  `auto` takes devices of these where one is alive

    Raises UnknownDeviceError naming the known ones, UnavailableError when `auto` finds none alive and when no worker
    has ever said what it has, so that nobody can know whether the name is right.
    """
    rows = list_devices(session)
    known = ", ".join([AUTO, *(row.id for row in rows)])
    if name.startswith(RECORDED):
        raise UnknownDeviceError(f"{quote(name)} has recorded results only, nothing runs on it; devices: {known}.")
    found = offered(session) if name == AUTO else [device_info(row) for row in rows]
    if not found:
        raise none_offered(session)
    if name == AUTO:
        fitting = [device for device in found if device.backend in backends and not device.hosts]
        together = (device for device in fitting if several and device.is_several)
        return next(together, None) or next(device for device in (*fitting, *found) if not device.is_several)
    for device in found:
        if device.id == name:
            return device
    raise UnknownDeviceError(f"There is no device {quote(name)}; known devices: {known}.")


def _lock_offered(session: Session, device_ids: Sequence[str], owner: str) -> Sequence[str]:
    """Return those of the devices that nobody but this owner offers; their rows are locked."""
    mine = DeviceRow.id.in_(device_ids), DeviceRow.owner.in_(("", owner))
    return session.scalars(select(DeviceRow.id).where(*mine).order_by(DeviceRow.id).with_for_update()).all()


def _taken(device_id: str) -> ConflictError:
    return ConflictError(
        f"Another worker offers the device {quote(device_id)} in this database. Give each host a name of its own in "
        f"SPARSIGHT_HOST_NAME; of a worker that is gone the device is free after {ALIVE_S:.0f} s of silence."
    )
