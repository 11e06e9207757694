"""Tests of the load benchmark: its reports of requests, memory, and cores."""

import os

import psutil

from tools.load import CallLog, Calls
from tools.load_watch import Watch, shares


def test_memory_is_told_as_time_passed_and_by_what_it_grew_in_the_second_half() -> None:
    resident = [100] * 20 + [160] * 20 + [150] * 20
    watch = Watch(psutil.Process(), [held * 2**20 for held in resident])
    assert watch.words == "100 100 160 160 150 150, maximum 160; -10 in the second half"
    assert watch.grown == -10 * 2**20


def test_cores_are_told_by_who_took_them() -> None:
    before = {"clock": 100.0, "server": 1.0, "guests": 5.0}
    after = {"clock": 110.0, "server": 9.0, "guests": 7.5}
    assert shares(before, after) == f"server 0.80, guests 0.25 of {os.cpu_count()}"


def test_this_process_is_a_guest_of_its_own() -> None:
    spent = Watch(psutil.Process()).spent()
    assert spent["guests"] >= spent["server"] > 0.0


def test_a_kind_of_call_is_told_beside_its_target() -> None:
    book = CallLog({"list": Calls({"jobs": [0.1, 0.2, 0.3], "devices": [0.4]}, refused=1)})
    assert list(book.rows()) == [("list", 4, "300", "250", "400", "devices 400", 1, 0)]
