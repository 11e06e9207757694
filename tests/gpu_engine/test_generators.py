import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from pydantic import TypeAdapter

from gpu_engine.csr_matrix import CsrMatrix, check_csr, fingerprint
from gpu_engine.errors import ParameterError, TooLargeError
from gpu_engine.generators import GENERATORS, Generator, counters, find_generator, generate, rmat
from gpu_engine.parameters import parse_params
from tests.gpu_engine.generator_calls import BY_ROWS, CALLS, SMALL


def assert_canonical(matrix: CsrMatrix) -> None:
    check_csr(matrix.n_rows, matrix.n_cols, matrix.indptr, matrix.indices, matrix.values)
    assert (matrix.indptr.dtype, matrix.indices.dtype, matrix.values.dtype) == (np.int32, np.int32, np.float64)
    rows = np.repeat(np.arange(matrix.n_rows), np.diff(matrix.indptr))
    assert (np.diff(rows * (matrix.n_cols + 1) + matrix.indices) > 0).all()
    assert (matrix.values != 0.0).all()


def test_every_generator_is_tried_here() -> None:
    assert list(SMALL) == [g.name for g in GENERATORS]


@pytest.mark.parametrize("maker", GENERATORS, ids=lambda g: g.name)
def test_contract(maker: Generator) -> None:
    schema = TypeAdapter(maker.Params).json_schema()
    assert all("description" in entry and "default" in entry for entry in schema["properties"].values())
    assert dataclasses.asdict(maker.Params()) == dataclasses.asdict(parse_params(maker.Params, {}))
    assert find_generator(maker.name) is maker
    assert maker.summary.endswith(".")


@pytest.mark.parametrize(("name", "params"), CALLS)
def test_matrices_are_canonical_and_repeatable(name: str, params: dict[str, Any]) -> None:
    matrix = generate(name, params)
    assert_canonical(matrix)
    assert fingerprint(matrix) == fingerprint(generate(name, params))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("delaunay", {"n": 5000}),
        ("rgg", {"n": 5000}),
        ("road", {"length": 300}),
        ("road", {"length": 300, "kept": 0.3, "linked": 0.9, "shuffled": 0.3}),
        ("mesh", {"nx": 60, "ny": 40, "shuffled": 0.3}),
        ("rmat", {"scale": 12}),
        ("web", {"n": 20_000}),
        ("web", {"n": 20_000, "dangling": 0.3, "stars": 0.02}),
        ("powerlaw", {"n": 20_000, "max_length": 300}),
        ("rows", {"n": 20_000}),
        ("dense_rows", {"n": 5000}),
        ("two_level", {"n": 5000}),
        ("linear_program", {"constraints": 4000, "variables": 5000}),
        ("linear_program", {"constraints": 2000, "variables": 2500, "form": "kkt"}),
        ("rectangular", {"n_rows": 5000, "n_cols": 300}),
        ("circuit", {"n": 5000}),
    ],
)
def test_seed_and_estimate(name: str, params: dict[str, Any]) -> None:
    matrix = generate(name, params)
    assert fingerprint(matrix) != fingerprint(generate(name, params | {"seed": 1}))
    maker = find_generator(name)
    assert matrix.nnz == pytest.approx(maker.estimate_nnz(parse_params(maker.Params, params)), rel=0.3)
    ones = generate(name, params | {"values": "ones"})
    assert np.array_equal(ones.indices, matrix.indices)
    assert (ones.values == 1.0).all()
    assert matrix.values.min() > 0.0
    assert matrix.values.max() <= 1.0
    assert np.unique(matrix.values).size > matrix.nnz // 3


@pytest.mark.parametrize("points", [5, 7, 9, 27])
def test_stencils_are_sums_and_products_of_second_differences(points: int) -> None:
    nx, ny, nz = 6, 5, 4 if points in (7, 27) else 1

    def near(n: int) -> Any:
        return scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)).toarray()

    if points in (9, 27):
        neighbours = np.kron(np.kron(near(nz), near(ny)), near(nx))
    else:
        one = [np.eye(n) for n in (nz, ny, nx)]
        apart = [near(n) - np.eye(n) for n in (nz, ny, nx)]
        parts = [[apart[0], one[1], one[2]], [one[0], apart[1], one[2]], [one[0], one[1], apart[2]]]
        neighbours = sum(np.kron(np.kron(z, y), x) for z, y, x in parts) + np.eye(nx * ny * nz)
    expected = points * np.eye(nx * ny * nz) - neighbours
    params = {"points": points, "nx": nx, "ny": ny, "nz": nz}
    matrix = generate("stencil", params)
    assert np.array_equal(matrix.to_scipy().toarray(), expected)
    assert matrix.nnz == find_generator("stencil").estimate_nnz(parse_params(find_generator("stencil").Params, params))


def test_delaunay_is_a_symmetric_triangulation() -> None:
    full = generate("delaunay", {"n": 2000})
    lower = generate("delaunay", {"n": 2000, "part": "lower"})
    square = full.to_scipy().toarray()
    assert np.array_equal(square, square.T)
    assert np.array_equal(np.tril(square, -1), lower.to_scipy().toarray())
    assert full.nnz == 2 * lower.nnz
    # Euler: 3·n − 3 − h edges, h of them on the hull.
    assert 3 * 2000 - 3 - 100 < lower.nnz < 3 * 2000 - 6
    assert scipy.sparse.csgraph.connected_components(full.to_scipy())[0] == 1


def test_rmat_quadrants_follow_their_probabilities() -> None:
    rows, cols = rmat._draw(np.random.default_rng(0), 10, 200_000)
    share = np.bincount(2 * (rows >= 512) + (cols >= 512), minlength=4) / 200_000
    assert share == pytest.approx([0.57, 0.19, 0.19, 0.05], abs=0.005)
    assert rows.max() < 1024
    assert rows.min() >= 0


def test_rmat_shuffling_keeps_the_row_lengths() -> None:
    plain, shuffled = (generate("rmat", {"scale": 10, "shuffled": flag}) for flag in (False, True))
    assert sorted(np.diff(plain.indptr)) == sorted(np.diff(shuffled.indptr))
    assert not np.array_equal(np.diff(plain.indptr), np.diff(shuffled.indptr))


def test_rmat_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rmat, "EDGES_PER_BLOCK", 1000)
    matrix = generate("rmat", {"scale": 9, "shuffled": True})
    assert_canonical(matrix)
    assert 5000 < matrix.nnz < 16 * 512


@pytest.mark.parametrize("mean", [0.3, 3.0, 40.0])
@pytest.mark.parametrize("exponent", [1.05, 2.0, 3.5])
def test_powerlaw_rows(mean: float, exponent: float) -> None:
    matrix = generate("powerlaw", {"n": 40_000, "mean": mean, "exponent": exponent, "max_length": 400})
    lengths = np.diff(matrix.indptr)
    assert lengths.mean() == pytest.approx(mean, rel=0.2)
    assert lengths.max() <= 400
    assert lengths.max() > 8 * mean
    # Columns are uniform: no column is used much more often than the mean.
    used = np.bincount(matrix.indices, minlength=40_000)
    assert used.max() < mean + 8 * np.sqrt(mean) + 8


def test_rgg_joins_what_is_near_on_the_torus() -> None:
    matrix = generate("rgg", {"n": 4000, "degree": 12.0, "seed": 5, "values": "ones"})
    points = np.random.default_rng(5).random((4000, 2))
    apart = np.abs(points[:, None] - points[None])
    near = (np.minimum(apart, 1 - apart) ** 2).sum(axis=2) <= 12.0 / (np.pi * 3999)
    np.fill_diagonal(near, False)
    assert np.array_equal(matrix.to_scipy().toarray(), near)
    assert matrix.nnz / 4000 == pytest.approx(12.0, rel=0.05)


def test_road_is_a_share_of_a_grid() -> None:
    whole = generate("road", {"length": 6, "width": 4, "kept": 1.0, "values": "ones"}).to_scipy().toarray()
    line = {n: scipy.sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n)).toarray() for n in (6, 4)}
    assert np.array_equal(whole, np.kron(line[6], np.eye(4)) + np.kron(np.eye(6), line[4]))
    part = generate("road", {"length": 500, "width": 40, "kept": 0.6})
    square = part.to_scipy()
    assert abs(square - square.T).max() == 0.0
    assert part.nnz == pytest.approx(0.6 * 2 * (500 * 39 + 499 * 40), rel=0.03)
    assert np.abs(np.repeat(np.arange(20_000), np.diff(part.indptr)) - part.indices).max() == 40


def test_linked_roads_have_few_empty_rows_below_the_diagonal() -> None:
    call = {"length": 300, "width": 200, "kept": 0.3, "values": "ones"}
    plain, linked = (generate("road", call | {"linked": linked}).to_scipy() for linked in (0.0, 0.9))
    # A crossing has no edge back or to the left in 0.7² of the cases; nine tenths of those get one.
    assert _empty_rows(plain) == pytest.approx(0.49, abs=0.01)
    assert _empty_rows(linked) == pytest.approx(0.049, abs=0.005)
    assert (plain - plain.multiply(linked)).nnz == 0
    assert linked.nnz - plain.nnz == pytest.approx(2 * 0.9 * 0.49 * 60_000, rel=0.03)
    every = generate("road", call | {"kept": 0.0, "linked": 1.0}).to_scipy()
    assert (every.nnz, scipy.sparse.csgraph.connected_components(every)[0]) == (2 * 59_999, 1)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("road", {"length": 70, "width": 60, "kept": 0.7}),
        ("mesh", {"nx": 70, "ny": 60, "shape": "honeycomb"}),
    ],
)
def test_shuffled_points_keep_their_edges(name: str, params: dict[str, Any]) -> None:
    natural, shuffled = (generate(name, {**params, "shuffled": share}).to_scipy() for share in (0.0, 0.5))
    assert shuffled.nnz == natural.nnz
    assert shuffled.multiply(natural).nnz < natural.nnz / 2
    assert sorted(np.diff(shuffled.indptr)) == sorted(np.diff(natural.indptr))
    components = [scipy.sparse.csgraph.connected_components(matrix)[1] for matrix in (natural, shuffled)]
    assert sorted(np.bincount(components[0])) == sorted(np.bincount(components[1]))
    assert _empty_rows(shuffled) > _empty_rows(natural) + 0.05


def _empty_rows(matrix: Any) -> float:
    """The share of the rows that are empty below the diagonal."""
    return float((np.diff(scipy.sparse.tril(matrix, -1).tocsr().indptr) == 0).mean())


def test_a_mesh_is_a_grid_or_a_honeycomb() -> None:
    grid = generate("mesh", {"nx": 6, "ny": 4, "values": "ones"})
    assert fingerprint(grid) == fingerprint(generate("road", {"length": 4, "width": 6, "kept": 1.0, "values": "ones"}))
    comb = generate("mesh", {"nx": 50, "ny": 40, "shape": "honeycomb"}).to_scipy()
    lengths = np.diff(comb.indptr).reshape(40, 50)
    assert (lengths[1:-1, 1:-1] == 3).all()
    maker = find_generator("mesh")
    for shape in ("grid", "honeycomb"):
        for nx, ny in ((6, 4), (5, 4), (6, 5), (5, 5), (5, 1)):
            params = {"nx": nx, "ny": ny, "shape": shape}
            assert generate("mesh", params).nnz == maker.estimate_nnz(parse_params(maker.Params, params))


def test_points_of_one_color_are_numbered_consecutively() -> None:
    mesh = generate("mesh", {"nx": 6, "ny": 4, "colors_x": 3, "colors_y": 2, "values": "ones"}).to_scipy().toarray()
    # Place of the cell, then cells, row by row.
    order = [y * 6 + x for cy in (0, 1) for cx in (0, 1, 2) for y in (cy, cy + 2) for x in (cx, cx + 3)]
    grid = generate("mesh", {"nx": 6, "ny": 4, "values": "ones"}).to_scipy().toarray()
    assert np.array_equal(mesh, grid[np.ix_(order, order)])
    # Only the first point of a cell has no smaller neighbor, where the cells fit.
    colored = generate("mesh", {"nx": 64, "ny": 32, "colors_x": 8, "colors_y": 2}).to_scipy()
    assert _empty_rows(colored) == 1 / 16


def test_patches_exchange_their_numbers_together() -> None:
    call = {"nx": 80, "ny": 60, "shuffled": 0.5, "values": "ones"}
    lonely, patches = (generate("mesh", call | {"patch": patch}).to_scipy() for patch in (1, 10))
    natural = generate("mesh", {"nx": 80, "ny": 60, "values": "ones"}).to_scipy()
    # An edge inside a patch of the natural order stays as it is; half the points do, and a quarter of the edges.
    shares = [matrix.multiply(natural).nnz / natural.nnz for matrix in (lonely, patches)]
    assert shares == [pytest.approx(0.25, abs=0.05), pytest.approx(0.48, abs=0.1)]


def test_delaunay_points_come_first_at_random_then_in_strips() -> None:
    n = 4000
    apart = []
    for coarse in (0.0, 0.3, 1.0):
        edges = generate("delaunay", {"n": n, "coarse": coarse}).to_scipy().tocoo()
        apart.append(np.abs(edges.row - edges.col))
    # Neighbors lie in a strip of 2 · √n points or beside it; only edges of the hull are longer.
    assert np.quantile(apart[0], 0.99) < 2 * 2 * np.sqrt(n)
    assert np.median(apart[0]) < 10
    # Of random numbers the mean difference is a third.
    assert apart[2].mean() == pytest.approx(n / 3, rel=0.05)
    links = generate("delaunay", {"n": n, "coarse": 0.3}).to_scipy()[1200:, 1200:].tocoo()
    assert np.quantile(np.abs(links.row - links.col), 0.99) < 2 * 2 * np.sqrt(n)
    assert links.nnz / apart[1].size == pytest.approx(0.49, abs=0.05)


@pytest.mark.parametrize(("name", "params"), [("rgg", {"n": 500}), ("road", {"width": 9}), ("delaunay", {"n": 300})])
def test_the_lower_part_is_that_of_the_symmetric_matrix(name: str, params: dict[str, Any]) -> None:
    full, lower = (generate(name, {**params, "part": part}).to_scipy() for part in ("full", "lower"))
    assert (scipy.sparse.tril(full, -1) != lower).nnz == 0
    assert (full != lower + lower.T).nnz == 0


def test_rgg_in_strips_keeps_neighbours_near() -> None:
    """A neighbour lies in the own strip or one beside it, so its number differs by about two strips of points."""
    n, degree = 4000, 12.0
    strip = n * (degree / (np.pi * (n - 1))) ** 0.5
    matrix = generate("rgg", {"n": n, "degree": degree, "order": "strips", "part": "lower"}).to_scipy().tocoo()
    apart = matrix.row - matrix.col
    # The torus joins the first strip and the last, and the ends of a strip.
    high = (
        generate("rgg", {"n": n, "degree": degree, "order": "strips", "strips": 1, "part": "lower"}).to_scipy().tocoo()
    )
    far = high.row - high.col
    assert far[far < n / 2].max() < 2 * strip
    assert np.median(far) > 5 * np.median(apart)
    near = apart < n / 2
    assert near.mean() > 0.95
    assert apart[near].max() < 3 * strip
    assert (
        generate("rgg", {"n": n, "degree": degree}).nnz
        == 2 * generate("rgg", {"n": n, "degree": degree, "part": "lower"}).nnz
    )


def test_web_transposed_is_the_transpose() -> None:
    web, transposed = (
        generate("web", {"n": 1100, "values": "ones", "transposed": transposed}) for transposed in (False, True)
    )
    np.testing.assert_array_equal(transposed.to_scipy().toarray(), web.to_scipy().toarray().T)


def test_powerlaw_both_ways_has_popular_columns() -> None:
    call = {"n": 3000, "mean": 20.0, "exponent": 1.6, "max_length": 2000}
    uniform, skewed = (
        np.bincount(generate("powerlaw", {**call, "columns": columns}).indices, minlength=3000)
        for columns in ("uniform", "powerlaw")
    )
    assert uniform.max() < 60
    assert skewed.max() > 300
    assert np.median(skewed) < np.median(uniform) / 2


def test_fem_is_a_stencil_of_full_blocks() -> None:
    params = {"nx": 3, "ny": 4, "nz": 2, "block": 3}
    matrix = generate("fem", params)
    square = matrix.to_scipy().toarray()
    grid = generate("stencil", {"points": 27, "nx": 3, "ny": 4, "nz": 2}).to_scipy().toarray() != 0
    assert np.array_equal(square != 0, np.kron(grid, np.ones((3, 3))) != 0)
    assert np.array_equal(square, square.T)
    assert matrix.nnz == find_generator("fem").estimate_nnz(parse_params(find_generator("fem").Params, params))
    assert (generate("fem", params | {"values": "ones"}).values == 1.0).all()


def test_web_links_stay_on_their_host_or_lead_to_popular_pages() -> None:
    own = generate("web", {"n": 20_000, "local": 1.0, "host": 50})
    rows = np.repeat(np.arange(20_000), np.diff(own.indptr))
    assert (rows // 50 == own.indices // 50).all()
    away = generate("web", {"n": 20_000, "local": 0.0, "host": 50})
    used = np.sort(np.bincount(away.indices, minlength=20_000))[::-1]
    # A page in the popular order below share s is linked with probability s^(1/3).
    assert used[:20].sum() / away.nnz == pytest.approx(0.1, abs=0.03)
    assert used[:2500].sum() / away.nnz == pytest.approx(0.5, abs=0.05)
    assert np.diff(away.indptr).max() > 300


def test_dangling_pages_have_no_link_and_the_others_as_many_more() -> None:
    lengths = np.diff(generate("web", {"n": 20_000, "mean": 5.0, "dangling": 0.3, "local": 0.0}).indptr)
    assert np.count_nonzero(lengths == 0) == 6000
    assert lengths.mean() == pytest.approx(5.0, rel=0.1)


def test_stars_are_hosts_whose_pages_link_to_the_first_one_and_back() -> None:
    web = generate("web", {"n": 20_030, "stars": 0.2, "dangling": 0.3, "host": 50, "values": "ones"}).to_scipy()
    stars = [
        first for first in range(0, 20_030, 50) if web[[first]].nnz == 49 and web[first + 1 : first + 50].nnz == 49
    ]
    assert len(stars) == pytest.approx(80, abs=30)
    for first in stars[:5]:
        block = web[first : first + 50, first : first + 50].toarray()
        assert block[0, 1:].all()
        assert block[1:, 0].all()
        assert not block[1:, 1:].any()
    assert np.count_nonzero(np.diff(web.indptr) == 0) == round(0.3 * 20_030)
    every = np.diff(generate("web", {"n": 990, "max_length": 10, "mean": 5.0, "stars": 1.0, "host": 9}).indptr)
    assert every.tolist() == [8, *[1] * 8] * 110


@pytest.mark.parametrize(
    ("lengths", "sigma", "median"),
    # Medians: of log-normal lengths mean² / √(mean² + sigma²), of exponential ones mean · ln 2.
    [("constant", 0.0, 20.0), ("lognormal", 30.0, 20**2 / np.hypot(20, 30)), ("exponential", 20.0, 20 * np.log(2))],
)
def test_rows_have_the_lengths_asked_for(lengths: str, sigma: float, median: float) -> None:
    matrix = generate("rows", {"n": 60_000, "lengths": lengths, "mean": 20.0, "sigma": 30.0})
    found = np.diff(matrix.indptr)
    assert found.mean() == pytest.approx(20.0, rel=0.02)
    assert found.std() == pytest.approx(sigma, rel=0.1)
    assert np.median(found) == pytest.approx(median, abs=1.0)


@pytest.mark.parametrize(("name", "params"), BY_ROWS)
def test_any_rows_are_those_of_the_whole(name: str, params: dict[str, Any]) -> None:
    whole, chosen = generate(name, params), find_generator(name)
    assert chosen.by_rows is not None
    parsed, borders = parse_params(chosen.Params, params), [0, 0, whole.n_rows // 3, whole.n_rows]
    assert chosen.by_rows.size(parsed) == whole.n_rows
    for first, stop in itertools.pairwise(borders):
        piece = chosen.by_rows.rows(parsed, first, stop, np)
        entries = slice(whole.indptr[first], whole.indptr[stop])
        assert (piece.shape, piece.indptr[0]) == ((stop - first, whole.n_cols), 0)
        assert np.array_equal(np.diff(piece.indptr), np.diff(whole.indptr[first : stop + 1]))
        assert np.array_equal(np.diff(piece.indptr), chosen.by_rows.lengths(parsed, first, stop, np))
        assert np.array_equal(piece.indices, whole.indices[entries])
        assert np.array_equal(piece.values, whole.values[entries])


def test_numbers_by_counter_are_those_of_splitmix() -> None:
    # The first numbers of the published generator from the state 1234567.
    found = counters.draw(np.arange(3, dtype=np.uint64), np.uint64(1234567))
    assert found.tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize(("mean", "exponent", "longest"), [(24.0, 2.1, 5000), (0.5, 2.0, 100), (7.0, 3.5, 7)])
def test_stratified_rows_have_the_lengths_of_powerlaw(mean: float, exponent: float, longest: int) -> None:
    call = {"n": 200_000, "mean": mean, "exponent": exponent, "max_length": longest}
    drawn, by_counter = (
        np.bincount(np.diff(generate(name, call | {"values": "ones"}).indptr), minlength=longest + 1) / 200_000
        for name in ("powerlaw", "stratified")
    )
    # Of 200 000 draws a share is off by at most half a thousandth, as the standard error is a tenth of a percent.
    assert np.abs(np.cumsum(drawn) - np.cumsum(by_counter)).max() < 0.006


def test_stratified_columns_are_spread_over_the_matrix() -> None:
    matrix = generate("stratified", {"n": 6000, "mean": 12.0, "max_length": 40})
    strata = np.repeat(np.diff(matrix.indptr), np.diff(matrix.indptr))
    slots = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], np.diff(matrix.indptr))
    # Each entry lies in its stratum, anywhere: the mean of its place in it is a half, the variance a twelfth.
    places = matrix.indices * strata / 6000 - slots
    assert (places.min() > -0.01, places.max() < 1.0) == (True, True)
    assert (places.mean(), places.var()) == (pytest.approx(0.5, abs=0.01), pytest.approx(1 / 12, abs=0.002))
    assert matrix.values.mean() == pytest.approx(0.5, abs=0.005)


def test_rows_of_powerlaw_are_those_of_powerlaw() -> None:
    call = {"n": 5000, "mean": 8.0, "exponent": 2.5, "max_length": 300}
    assert fingerprint(generate("rows", call | {"lengths": "powerlaw"})) == fingerprint(generate("powerlaw", call))


@pytest.mark.parametrize(("ratio", "share"), [(10.0, 0.5), (4.0, 0.25)])
def test_the_first_rows_are_longer_by_the_ratio(ratio: float, share: float) -> None:
    lengths = np.diff(generate("two_level", {"n": 4000, "mean": 20.0, "ratio": ratio, "share": share}).indptr)
    long, short = np.split(lengths, [round(4000 * share)])
    assert (np.ptp(long) <= 1, np.ptp(short) <= 1, long.mean() / short.mean()) == (
        True,
        True,
        pytest.approx(ratio, rel=0.02),
    )
    assert lengths.mean() == pytest.approx(20.0, rel=0.01)


def test_dense_rows_are_full_and_the_others_even() -> None:
    lengths = np.diff(generate("dense_rows", {"n": 2000, "dense": 5, "mean": 2.5}).indptr)
    assert np.count_nonzero(lengths == 2000) == 5
    others = lengths[lengths < 2000]
    assert set(others.tolist()) == {2, 3}
    assert others.mean() == pytest.approx(2.5, abs=0.05)
    empty = np.diff(generate("dense_rows", {"n": 2000, "dense": 5, "mean": 0.0}).indptr)
    assert sorted(set(empty.tolist())) == [0, 2000]


def test_programs_have_constraints_in_blocks_and_nearly_full_ones() -> None:
    params = {"constraints": 1000, "variables": 2000, "blocks": 10, "mean": 6.0, "coupling": 4, "fill": 0.8}
    program = generate("linear_program", params)
    assert program.shape == (1000, 2000)
    lengths = np.diff(program.indptr)
    coupling = np.flatnonzero(lengths > 200)
    assert coupling.size == 4
    assert lengths[coupling].mean() == pytest.approx(1600, rel=0.05)
    others = np.delete(np.arange(1000), coupling)
    assert lengths[others].min() >= 1
    assert lengths[others].mean() == pytest.approx(6.0, rel=0.1)
    row = np.repeat(np.arange(1000), lengths)
    near = ~np.isin(row, coupling)
    assert (row[near] // 100 == program.indices[near] // 200).all()


def test_a_kkt_system_is_symmetric_with_the_constraints_below_a_diagonal() -> None:
    params = {"constraints": 60, "variables": 90, "blocks": 3}
    system, a = (
        generate("linear_program", params | {"form": form}).to_scipy().toarray() for form in ("kkt", "constraints")
    )
    assert np.array_equal(system, system.T)
    assert np.array_equal(system[90:, :90], a)
    assert not system[90:, 90:].any()
    assert np.count_nonzero(system[:90, :90]) == np.count_nonzero(np.diag(system)) == 90


def test_rectangular_rows_have_the_lengths_asked_for() -> None:
    matrix = generate("rectangular", {"n_rows": 20_000, "n_cols": 3000, "mean": 15.0, "sigma": 10.0})
    lengths = np.diff(matrix.indptr)
    assert matrix.shape == (20_000, 3000)
    assert (lengths.mean(), lengths.std()) == (pytest.approx(15.0, rel=0.02), pytest.approx(10.0, rel=0.05))
    assert np.bincount(matrix.indices, minlength=3000).std() < 20


def test_circuits_are_symmetric_with_a_diagonal_and_rails() -> None:
    square = generate("circuit", {"n": 3000, "degree": 4.0, "reach": 10.0, "rails": 3, "fill": 0.3}).to_scipy()
    assert abs(square - square.T).max() == 0.0
    assert (square.diagonal() > 0.0).all()
    lengths = np.diff(square.indptr)
    rails = np.flatnonzero(lengths > 500)
    assert rails.size == 3
    assert lengths[rails].mean() == pytest.approx(900, rel=0.1)
    arrow = generate("circuit", {"n": 100, "degree": 0.0, "rails": 1, "fill": 1.0})
    assert arrow.nnz == 298


@pytest.mark.parametrize("nz", [1, 4])
@pytest.mark.parametrize("scheme", ["upwind", "central"])
def test_convection_is_diffusion_and_wind_along_each_axis(scheme: str, nz: int) -> None:
    wind = 0.5
    low, middle, high = (-wind, wind, 0.0) if scheme == "upwind" else (-wind / 2, 0.0, wind / 2)

    def along(n: int) -> Any:
        diagonals = [-1.0 + low, 2.0 + middle, -1.0 + high]
        return scipy.sparse.diags_array(diagonals, offsets=[-1, 0, 1], shape=(n, n)).toarray()

    x, y, z = along(6), along(5), along(nz) if nz > 1 else np.zeros((1, 1))
    one = [np.eye(n) for n in (nz, 5, 6)]
    expected = (
        np.kron(np.kron(z, one[1]), one[2]) + np.kron(np.kron(one[0], y), one[2]) + np.kron(np.kron(one[0], one[1]), x)
    )
    params = {"nx": 6, "ny": 5, "nz": nz, "peclet": wind, "scheme": scheme}
    matrix = generate("convection", params)
    np.testing.assert_allclose(matrix.to_scipy().toarray(), expected)
    maker = find_generator("convection")
    assert matrix.nnz == maker.estimate_nnz(parse_params(maker.Params, params))


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("convection", {"nx": 2000, "ny": 2000, "nz": 2000}, "8000000000 points; expected at most 2147483647"),
        ("delauny", {}, "no generator 'delauny'; known: stencil, fem, delaunay, rgg"),
        ("rmat", {"scale": 0}, "scale is '0'; expected a whole number from 1 to 28"),
        ("rmat", {"edgefactor": 4}, "no parameter 'edgefactor'; known: scale, edge_factor"),
        ("stencil", {"points": 6}, "one of 5, 7, 9, 27"),
        ("stencil", {"points": 5, "nz": 2}, "nz is 2; expected 1"),
        ("stencil", {"points": 7, "nx": 2000, "ny": 2000, "nz": 2000}, "at most 2147483647"),
        ("powerlaw", {"n": 100}, "max_length is 5000; expected at most n = 100"),
        ("powerlaw", {"mean": 6000.0}, "at most max_length = 5000"),
        ("rgg", {"n": 10, "degree": 8.0}, "10 points allow less than 7.06858"),
        ("road", {"length": 10_000_000, "width": 1000}, "expected at most 2147483647"),
        ("mesh", {"nx": 100_000, "ny": 100_000}, "10000000000 points; expected at most 2147483647"),
        ("fem", {"nx": 1000, "ny": 1000, "nz": 1000}, "3000000000 unknowns"),
        ("web", {"n": 100}, "max_length is 1000; expected at most n = 100"),
        ("rows", {"lengths": "normal"}, "one of constant, lognormal, exponential, powerlaw"),
        ("rows", {"mean": 6000.0}, "at most max_length = 5000"),
        ("dense_rows", {"n": 10, "dense": 11}, "dense is 11; expected at most n = 10"),
        ("two_level", {"n": 30, "mean": 20.0}, "36.3636 entries; expected at most n = 30"),
        ("delaunay", {"n": 3}, "from 4 to 8000000"),
        ("linear_program", {"constraints": 3, "coupling": 4}, "coupling is 4; expected at most constraints = 3"),
        ("linear_program", {"variables": 200, "mean": 3.0}, "at most 2, the variables of a block"),
        ("rectangular", {"n_cols": 4}, "mean is 12.0; expected at most n_cols = 4"),
        ("circuit", {"n": 1}, "rails is 2; expected at most n = 1"),
    ],
)
def test_wrong_parameters(name: str, params: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        generate(name, params)


def test_too_many_nonzeros_are_refused_before_building() -> None:
    with pytest.raises(TooLargeError, match="about 68,719,476,736 nonzeros"):
        generate("rmat", {"scale": 28, "edge_factor": 256})
    with pytest.raises(TooLargeError, match="at most 100"):
        generate("stencil", {}, nnz_max=100)
