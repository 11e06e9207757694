"""`sparsight doctor` on what other users of the host can change: each way is seen, and has its remedy."""

import os
import tempfile
from pathlib import Path

import pytest

from gpu_engine.host import caches
from server.settings import Settings
from sparsight.doctor_check import Check
from sparsight.privacy_checks import examine_privacy


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A private home with something in it, and folders beside it that the settings name."""
    for name in [name for name in os.environ if name.startswith("SPARSIGHT_")]:
        monkeypatch.delenv(name)
    for variable in caches.CACHE_FOLDERS:
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.setattr(caches, "emptied", [])
    for name in (*caches.CACHE_FOLDERS, "home/numba", "own", "store", "tmp"):
        (tmp_path / name).mkdir(parents=True)
    for path in (tmp_path / "home", tmp_path / "home" / "numba"):
        path.chmod(0o700)
    (tmp_path / "home" / "sparsight.db").touch(mode=0o600)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return Settings(home=tmp_path / "home", custom_kernels=str(tmp_path / "own"), store=str(tmp_path / "store"))


def examined(settings: Settings) -> list[Check]:
    return list(examine_privacy(settings))


def test_a_private_service_is_one_line(settings: Settings) -> None:
    assert [check.status for check in examined(settings)] == ["ok"]


@pytest.mark.parametrize(
    ("opened", "mode", "status"),
    [
        ("home", 0o755, "warn"),
        ("home", 0o775, "warn"),
        ("home/numba", 0o777, "warn"),
        ("home/sparsight.db", 0o664, "warn"),
        ("NUMBA_CACHE_DIR", 0o777, "fail"),
        ("CUPY_CACHE_DIR", 0o775, "fail"),
        ("store", 0o777, "fail"),
        ("own", 0o777, "fail"),
        ("tmp", 0o777, "fail"),
    ],
)
def test_each_way_in_is_seen(settings: Settings, opened: str, mode: int, status: str) -> None:
    (settings.home.parent / opened).chmod(mode)
    (check,) = examined(settings)
    assert (check.status, str(settings.home.parent / opened) in check.found, bool(check.advice)) == (status, True, True)


def test_a_folder_above_is_seen_for_all_that_lies_in_it(settings: Settings) -> None:
    settings.home.parent.chmod(0o777)
    checks = examined(settings)
    assert {check.status for check in checks} == {"fail"}
    assert len(checks) == 6


def test_a_cache_that_was_emptied_on_the_way_here_is_told(settings: Settings) -> None:
    caches.emptied.append(settings.home / "numba")
    assert [check.status for check in examined(settings)] == ["warn"]
