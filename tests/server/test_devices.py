"""Devices and who offers them: one dispatcher that lives at a time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from gpu_engine.errors import ConflictError
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile
from server import devices
from server.db import Database, clock
from server.models import Base, DeviceRow
from tests.postgres import DATABASES, fresh

CPU = DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25)
GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 2**36, 2**26, "GPU-1")


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    sqlite = request.param == "sqlite"
    database = Database(f"sqlite:///{tmp_path / 'a.db'}" if sqlite else fresh(request.getfixturevalue("postgres")))
    Base.metadata.create_all(database.engine)
    yield database
    database.close()


def owners(database: Database) -> dict[str, str]:
    with database.read() as session:
        return {row.id: row.owner for row in session.scalars(select(DeviceRow))}


def alive(database: Database) -> set[str]:
    with database.read() as session:
        return devices.alive(session, devices.list_devices(session))


def silence(database: Database, seconds: float) -> None:
    """The dispatchers of all devices were last heard of so long ago."""
    with database.write() as session:
        session.execute(update(DeviceRow).values(seen_at=clock() - seconds))


def test_a_second_dispatcher_is_refused_and_told_what_to_set(database: Database) -> None:
    devices.register(database, [CPU, GPU], "first")
    silence(database, devices.ALIVE_S - 5)
    with pytest.raises(ConflictError, match=r"the device 'cpu' .* its own SPARSIGHT_HOST_NAME"):
        devices.register(database, [DeviceInfo("cuda:1", "cuda", "Another", 1, 1), CPU], "second")
    assert owners(database) == {"cpu": "first", "cuda:0": "first"}
    devices.register(database, [CPU], "first")
    assert owners(database)["cpu"] == "first"


@pytest.mark.parametrize("end", ["silent", "stopped", "known to be dead"])
def test_the_devices_of_a_dead_dispatcher_are_taken_over(database: Database, end: str) -> None:
    devices.register(database, [CPU, GPU], "first")
    if end == "silent":
        silence(database, devices.ALIVE_S + 5)
    if end == "stopped":
        devices.withdraw(database, ["cpu", "cuda:0"], "first")
    devices.register(database, [CPU, GPU], "second", dead=["first"] if end == "known to be dead" else [])
    assert owners(database) == {"cpu": "second", "cuda:0": "second"}
    assert alive(database) == {"cpu", "cuda:0"}


def test_hosts_with_names_of_their_own_stand_side_by_side(database: Database) -> None:
    for host in ("gpu1", "gpu2"):
        devices.register(database, [DeviceInfo(f"{host}/cpu", "cpu", "A processor", 1, 1)], host)
    assert owners(database) == {"gpu1/cpu": "gpu1", "gpu2/cpu": "gpu2"}


def test_who_lost_a_device_hears_of_it_and_neither_keeps_it_nor_withdraws_it(database: Database) -> None:
    devices.register(database, [CPU], "first")
    devices.register(database, [GPU], "second", dead=["first"])
    devices.register(database, [CPU], "second", dead=["first"])
    silence(database, devices.ALIVE_S + 5)
    with pytest.raises(ConflictError, match="'cpu'"), database.write() as session:
        devices.touch(session, ["cpu"], "first")
    assert alive(database) == set()
    with database.write() as session:
        devices.touch(session, ["cpu", "cuda:0"], "second")
    devices.withdraw(database, ["cpu"], "first")
    assert alive(database) == {"cpu", "cuda:0"}


@pytest.mark.parametrize(("hours", "is_known"), [(-23, True), (-25, False), (23, True), (25, False)])
def test_a_bandwidth_of_another_day_is_measured_again(database: Database, hours: int, is_known: bool) -> None:
    at = (datetime.now(UTC) + timedelta(hours=hours)).isoformat(timespec="seconds")
    profile = DeviceProfile("cpu", CPU.name, 2**25, (BandwidthPoint(2**30, 1e10, 1e10),), at)
    devices.register(database, [CPU], "first")
    with database.write() as session:
        devices.store_profile(session, profile)
        assert (devices.fresh_profile(session, "cpu") is not None) == is_known
