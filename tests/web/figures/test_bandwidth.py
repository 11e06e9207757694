"""Tests of the bandwidth of a device over the footprint."""

import dataclasses

from gpu_engine.records import BandwidthPoint
from tests.web.conftest import PROFILE
from web.figures.bandwidth import draw, summary


def test_both_rates_by_ascending_footprint_and_where_the_cache_ends() -> None:
    shuffled = dataclasses.replace(PROFILE, bandwidth=PROFILE.bandwidth[::-1])
    copy, read, cache = draw(shuffled).data
    assert [(copy.name, copy.x, copy.y), (read.name, read.x, read.y)] == [
        ("copy", (10**6, 10**9), (90.0, 20.0)),
        ("read", (10**6, 10**9), (120.0, 24.0)),
    ]
    assert (cache.x, cache.y) == ((32 * 10**6,) * 2, (20.0, 120.0))
    assert copy.hovertext[0] == "copy: 90.0\u202fGB/s at 1.00\u202fMB"


def test_the_summary_names_cache_and_memory() -> None:
    assert "90.0\u202fGB/s at 1.00\u202fMB and 20.0\u202fGB/s from memory" in summary(PROFILE)


def test_a_gpu_is_drawn_in_terabytes() -> None:
    fast = (BandwidthPoint(10**6, 5e11, 6e11), BandwidthPoint(10**9, 4.2e12, 4.7e12))
    figure = draw(dataclasses.replace(PROFILE, bandwidth=fast))
    assert (figure.layout.yaxis.title.text, figure.data[0].y) == ("TB/s", (0.5, 4.2))


def test_an_unmeasured_device_has_a_sentence() -> None:
    figure = draw(dataclasses.replace(PROFILE, bandwidth=()))
    assert figure.layout.annotations[0].text == "The bandwidth of this device has not been measured."
