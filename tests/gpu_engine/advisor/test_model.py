"""The formula by hand, what is counted against the layouts, and what more padding or bandwidth does."""

from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.advisor import model, rank, work
from gpu_engine.advisor.gpus import FITTED, GPUS, Gpu
from gpu_engine.advisor.model import LAUNCH_S, MODELS, SHARPNESS, UNPREDICTED, predict
from gpu_engine.formats import FORMATS, kernel_names
from gpu_engine.formats.base import Format
from gpu_engine.generators import generate
from gpu_engine.matrices.features import SECTOR, features
from tests.gpu_engine.advisor.samples import COUNTS, EVEN, RANDOM


def test_every_cuda_kernel_has_a_model_and_nothing_else() -> None:
    assert sorted((*MODELS, *UNPREDICTED)) == sorted(kernel_names("cuda")), "advisor/model.py, MODELS: what each does"


ESTIMATED = {"sellp-64": 0.15, "hyb": 0.5, "hyb-mean": 0.5, "biell": 0.35}
"""Formats whose stored bytes the features do not give, and how far off the estimate may be."""


@pytest.mark.parametrize("values", ["random", "ones"])
@pytest.mark.parametrize("lengths", ["constant", "exponential"])
@pytest.mark.parametrize("f", [f for f in FORMATS if f.name_of(f.kernels[0]) in MODELS], ids=lambda f: f.name)
def test_stored_bytes_are_those_of_the_layout(f: Format, lengths: str, values: str) -> None:
    matrix = generate("rows", {"n": 20_000, "lengths": lengths, "mean": 12, "values": values})
    counted = MODELS[f.name_of(f.kernels[0])][0](features(matrix))
    stored = f.from_csr(matrix).stored_bytes
    assert counted.stored_bytes == pytest.approx(stored, rel=ESTIMATED.get(f.name, 0.02))


def test_what_is_walked() -> None:
    """A warp of csr/scalar goes as far as its longest row; a constant needs no load, a code one more."""
    scalar, _ = MODELS["csr/scalar"]
    assert scalar({**EVEN, "n_iter_ellr": 1000}).slots == 32 * 1000
    packed, _ = MODELS["packed/tile"]
    constant = {**EVEN, "distinct_values": 1, "float_values": True}
    assert (packed(EVEN).slots, packed(constant).slots) == (EVEN["nnz"], work.CONSTANT_SLOT * EVEN["nnz"])
    assert packed(EVEN).stored_bytes - packed(constant).stored_bytes == 8 * EVEN["nnz"]
    slices, _ = MODELS["sellp-packed/t1"]
    coded = slices({**EVEN, "distinct_values": 2})
    assert (coded.slots, coded.longest) == (work.CODED_SLOT * slices(EVEN).slots, work.CODED_SLOT * EVEN["max"])
    assert packed(EVEN).stored_bytes - packed({**EVEN, "narrow_runs": 0.5}).stored_bytes == EVEN["nnz"]


def blended(*parts: float) -> float:
    return float(sum(part**SHARPNESS for part in parts) ** (1 / SHARPNESS))


def test_the_formula_by_hand() -> None:
    n, nnz = 2**20, 10 * 2**20
    costs = MODELS["split/tile"][1]
    moved = 12 * nnz + 4 * (n + 1) + 24 * nnz / 512 + 16 * n
    # Entries that tiles sum with idle lanes: the mean row over itself and a tile.
    memory = moved / (0.894 * 4.8e12) + nnz * 10 / 522 * model.LONG_S
    lanes = nnz * costs.slot_s + n * costs.lane_s
    found = predict("split/tile", EVEN, cache="cold")
    chain = costs.start_s
    assert found.seconds == pytest.approx(LAUNCH_S["cold"] + blended(memory, lanes, chain), rel=1e-9)
    assert (found.gather_s, found.launch_s, found.longest_s) == (0.0, LAUNCH_S["cold"], chain)
    # All entries alone in their sector, less those that x in order has brought; 8 MiB of x, of which the first level
    # of a processor holds some, but 132 processors fetch every sector of x more often than there are entries.
    assert predict("split/tile", RANDOM, cache="cold").gather_s == pytest.approx((nnz - n / 4) * model.SECTOR_NEAR_S)
    few = {**RANDOM, "n_cols": 10_000}
    again = 1 - model.FIRST_LEVEL / 80_000 * (1 - 132 * 2500 / nnz) if model.FIRST_LEVEL < 80_000 else 132 * 2500 / nnz
    gather = (nnz - 2500) * model.SECTOR_NEAR_S * again
    assert predict("split/tile", few, cache="cold").gather_s == pytest.approx(gather, rel=1e-9)


def test_what_the_longest_row_takes_longer_than_the_mean_row_comes_on_top() -> None:
    kernel = "sellp/t1"
    costs = MODELS[kernel][1]
    alike = predict(kernel, EVEN, cache="cold").seconds
    longer = predict(kernel, {**EVEN, "max": 1000}, cache="cold").seconds
    assert longer == pytest.approx(alike + 990 * costs.step_s)
    # Where there is too little to do to fill the time, the mean row is seen: a start, then entry by entry.
    few = {**EVEN, "n_rows": 32, "n_cols": 32, "nnz": 320, "n_iter_ellr": 10}
    chain = costs.start_s + 10 * costs.step_s
    assert predict(kernel, few, cache="cold").seconds == pytest.approx(LAUNCH_S["cold"] + chain, rel=1e-3)
    assert predict("coo/segmented", {**EVEN, "max": 60}) == predict("coo/segmented", EVEN)


def test_warps_that_add_to_one_row_wait_for_each_other() -> None:
    full = {**EVEN, "max": 128 * 1000}
    alike = predict("coo/segmented", EVEN).seconds
    assert predict("coo/segmented", full).seconds == pytest.approx(alike + 1000 * model.CONFLICT_S)
    assert predict("hyb/segmented", full).seconds > predict("hyb/segmented", EVEN).seconds + 900 * model.CONFLICT_S


def test_one_full_row_makes_no_other_row_long() -> None:
    n = EVEN["n_rows"]
    # Σ l² grows by n² where one row of ten becomes full, and the first warp walks that far.
    full = {
        **EVEN,
        "ave": 11.0,
        "sigma": (n - 21) ** 0.5,
        "max": n,
        "nnz": EVEN["nnz"] + n,
        "n_iter_pellr": EVEN["n_iter_pellr"] + n,
    }
    weight = work.tiles(full).in_long_rows - work.tiles(EVEN).in_long_rows
    assert weight == pytest.approx(n, rel=0.05)
    spread = {**EVEN, "sigma": 100.0, "max": 5000}
    assert work.tiles(spread).in_long_rows == pytest.approx(EVEN["nnz"] * 1010 / 1522, rel=0.02)


@pytest.mark.parametrize("kernel", ["ell/thread", "ellr/thread", "pellr/thread", "sellp/t1", "sellp-packed/t1"])
def test_more_padding_never_makes_it_faster(kernel: str) -> None:
    times = []
    for longest in (10, 11, 13, 20, 40, 160, 1000):
        iterations = EVEN["n_iter_ellr"] * longest // 10
        padded = {"max": longest, "n_iter_ellr": iterations, "n_iter_pellr": iterations}
        times.append(predict(kernel, {**EVEN, **padded}).seconds)
    assert times == sorted(times)
    assert times[-1] > 5 * times[0]


def test_a_format_that_does_not_pad_does_not_mind_padding() -> None:
    wide = {**EVEN, "max": 40, "n_iter_ellr": 4 * EVEN["n_iter_ellr"]}
    assert predict("coo/segmented", wide) == predict("coo/segmented", EVEN)
    kernels = [kernel for kernel, _ in rank(wide)]
    assert kernels.index("split/tile") < kernels.index("sellp/t1") < kernels.index("ell/thread")


def test_streaming_scales_with_the_bandwidth_and_instructions_with_the_clock() -> None:
    twice = replace(FITTED, bandwidth=2 * FITTED.bandwidth)
    before, after = (predict("coo/segmented", RANDOM, gpu, "cold") for gpu in (FITTED, twice))
    assert after.stream_s == pytest.approx(before.stream_s / 2)
    # L2 holds x.
    assert (after.gather_s, after.lanes_s, after.launch_s) == (before.gather_s, before.lanes_s, before.launch_s)
    faster = predict("coo/segmented", RANDOM, replace(FITTED, clock_hz=2 * FITTED.clock_hz), "cold")
    assert faster.stream_s == before.stream_s
    assert (faster.gather_s, faster.lanes_s) == pytest.approx((before.gather_s / 2, before.lanes_s / 2))
    all_twice = replace(twice, clock_hz=2 * FITTED.clock_hz)
    halved = predict("coo/segmented", RANDOM, all_twice, "cold")
    # What waits, waits as long as before, but is hidden behind the rest.
    assert halved.seconds - halved.launch_s == pytest.approx((before.seconds - before.launch_s) / 2, rel=1e-3)


def test_sectors_from_memory_scale_with_the_bandwidth() -> None:
    x = 2**30
    wide = {**RANDOM, "n_cols": x, "nnz": 10 * x, "n_rows": x}
    before, after = (
        predict("coo/segmented", wide, gpu, "cold") for gpu in (FITTED, replace(FITTED, bandwidth=2 * FITTED.bandwidth))
    )
    assert after.gather_s == pytest.approx(before.gather_s / 2, rel=0.02)


def test_a_measured_gpu_has_a_factor_a_kernel() -> None:
    half = replace(FITTED, factors={"coo/segmented": 0.5})
    assert predict("coo/segmented", EVEN, half).seconds == predict("coo/segmented", EVEN).seconds / 2
    assert predict("split/tile", EVEN, half) == predict("split/tile", EVEN)


def test_the_newer_the_gpu_the_faster() -> None:
    times = [predict("split/tile", EVEN, gpu).seconds for gpu in GPUS]
    assert times == sorted(times, reverse=True)
    # Memory sets this time: P100 to H200 is 732 to 4800 GB/s.
    assert times[0] / times[-1] == pytest.approx(4800 / 732, rel=0.25)


def test_what_fits_the_cache_is_faster_warm_than_cold_by_more_than_the_launch() -> None:
    small = {**EVEN, **{name: EVEN[name] // 16 for name in COUNTS}}
    cold, warm = (predict("split/tile", small, cache=cache) for cache in ("cold", "warm"))
    assert warm.stream_s == pytest.approx(cold.stream_s / model.CACHED_RATE)
    large = {**EVEN, **{name: EVEN[name] * 64 for name in COUNTS}}
    cold, warm = (predict("split/tile", large, cache=cache) for cache in ("cold", "warm"))
    assert warm.stream_s == pytest.approx(cold.stream_s, rel=1e-3)


def test_what_the_cache_holds_of_a_larger_set_falls_with_the_square() -> None:
    moved = MODELS["split/tile"][0](EVEN).moved_bytes
    half = replace(FITTED, cache_bytes=moved / 2)
    warm, cold = (predict("split/tile", EVEN, half, cache).stream_s for cache in ("warm", "cold"))
    assert warm / cold == pytest.approx(0.75 + 0.25 / model.CACHED_RATE)


@pytest.mark.parametrize(("ave", "lanes"), [(1.0, 1), (8.0, 8), (8.1, 16), (32.0, 32), (500.0, 32)])
def test_lanes_are_the_power_of_two_from_the_mean_row_up(ave: float, lanes: int) -> None:
    assert work.smart_lanes({**EVEN, "ave": ave}) == lanes


@pytest.mark.parametrize(("ave", "waste"), [(2.0, 1.0), (6.0, 1.0), (14.0, 1.8), (22.0, 2.6), (90.0, 2.6)])
def test_one_thread_a_row_wastes_sectors_from_six_entries_to_twenty_two(ave: float, waste: float) -> None:
    found, n = {**EVEN, "ave": ave}, EVEN["n_rows"]
    assert MODELS["csr/scalar"][0](found).moved_bytes == pytest.approx(waste * 12 * EVEN["nnz"] + 4 * (n + 1) + 16 * n)


def test_row_pointers_take_eight_bytes_from_two_to_the_31_nonzeros_on() -> None:
    n = EVEN["n_rows"]
    for nnz, size in ((2**31 - 1, 4), (2**31, 8)):
        assert MODELS["csr/vector"][0]({**EVEN, "nnz": nnz}).stored_bytes == 12 * nnz + size * (n + 1)


@pytest.mark.parametrize(
    ("kernel", "lanes"),
    [
        ("csr/scalar", 1),
        ("csr/vector", 32),
        ("csr/vector16", 16),
        ("sellp/t1", 1),
        ("sellp/t2", 2),
        ("sellp/t4", 4),
        ("sellp/t8", 8),
        ("sellp/t16", 16),
        ("sellp/t32", 32),
        ("sellp-sorted/t2", 2),
        ("sellp-packed/t2", 2),
    ],
)
def test_lanes_share_the_longest_row(kernel: str, lanes: int) -> None:
    found = MODELS[kernel][0]({**EVEN, "max": 1000})
    assert (found.longest, found.lanes) == (1000 / lanes, EVEN["n_rows"] * lanes)


def fetch_s(gpu: Gpu = FITTED, **changed: Any) -> float:
    """Seconds of a sector of x in `coo`, where x is read from memory."""
    found = {**RANDOM, **changed}
    fetched = found["sectors_run"] * found["nnz"] - found["n_cols"] / SECTOR
    return float(predict("coo/segmented", found, gpu, "cold").gather_s / fetched)


def test_of_x_in_part_in_the_cache_the_rest_comes_from_memory() -> None:
    # 128 MiB of x, of which half the cache and a bit more serves each processor; too large for the first level.
    columns = 2**24
    wide: dict[str, Any] = {"n_cols": columns, "nnz": 10 * columns, "n_rows": columns}
    first_level = model.FIRST_LEVEL / (8 * columns)
    again = max(0.0, 1.0 - FITTED.processors * columns / SECTOR / (10 * columns))
    missed = 1.0 - model.HALF * FITTED.cache_bytes / (8 * columns)
    near, far = model.SECTOR_NEAR_S, model.SECTOR_FAR_S
    for narrow in (0.0, 0.25):
        expected = (near + (far - near) * missed * (1.0 - narrow)) * (1.0 - again * first_level)
        assert fetch_s(**wide, narrow_runs=narrow) == pytest.approx(expected)


def test_entries_that_share_sectors_find_them_at_hand() -> None:
    assert fetch_s(sectors_run=model.SHARED_FROM) == pytest.approx(fetch_s())
    assert fetch_s(sectors_run=model.SHARED_FROM / 2) == pytest.approx(fetch_s() / 2)


def test_fewer_processors_fetch_a_sector_again_less_often() -> None:
    columns = 10_000
    one = replace(FITTED, name="one", processors=1, clock_hz=FITTED.issue_rate)
    again = {gpu.name: 1.0 - gpu.processors * columns / SECTOR / EVEN["nnz"] for gpu in (FITTED, one)}
    assert [fetch_s(gpu, n_cols=columns) / model.SECTOR_NEAR_S for gpu in (FITTED, one)] == pytest.approx(
        [1.0 - again[gpu.name] for gpu in (FITTED, one)]
    )


def test_entries_of_long_rows_take_as_long_as_the_processors_need() -> None:
    spread = {**EVEN, "sigma": 100.0, "max": 5000}
    twice = replace(FITTED, name="twice", clock_hz=2 * FITTED.clock_hz, bandwidth=2 * FITTED.bandwidth)
    before, after = (predict("split/tile", spread, gpu, "cold") for gpu in (FITTED, twice))
    assert after.seconds - after.launch_s == pytest.approx((before.seconds - before.launch_s) / 2, rel=1e-2)


def test_a_row_whose_entries_are_in_the_cache_is_walked_faster() -> None:
    small = {**EVEN, "max": 10_000, "n_cols": 2**14, "n_rows": 2**14, "nnz": 10 * 2**14}
    costs = MODELS["csr/scalar"][1]
    cold, warm = (predict("csr/scalar", small, cache=cache).longest_s for cache in ("cold", "warm"))
    assert cold == pytest.approx(costs.start_s + 10_000 * costs.step_s)
    assert warm == pytest.approx(costs.start_s + 10_000 * costs.step_s * model.CACHED_STEP)
