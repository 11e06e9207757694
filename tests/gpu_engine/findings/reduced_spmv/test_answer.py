"""Whether fewer bits speed up one SpMV: pairs in one layout, in blocks as in the paper."""

from gpu_engine.findings.reduced_spmv.answer import pair, product, tallies, tally
from gpu_engine.findings.reduced_spmv.groups import FULL, counting, product_groups
from gpu_engine.pagerank.products import Product
from tests.samples.reduced_spmv import multiplied, shown


def test_each_graph_has_a_pair_per_operands() -> None:
    halves = [Product(2, 1, operands) for operands in ("both", "A", "p")]
    data = shown(*(multiplied(each, matrix=matrix) for matrix in ("lux", "del") for each in (FULL, *halves)))
    (setting,) = counting(product_groups(data))
    found = tallies(setting, "csr/thread", 2)
    assert list(found) == ["both", "A", "p"]
    assert all(len(each.pairs) == 2 for each in found.values())
    assert abs(found["both"].mean - 1.6) < 1e-9
    assert found["both"].pays == "yes"
    assert found["both"].mean > found["A"].mean > found["p"].mean
    assert tally(setting, "csr/thread", product(setting, 4)) is None
    assert tallies(setting, "ell/thread", 2) == {}


def test_noisy_graphs_have_no_pair() -> None:
    half = Product(2, 1)
    quiet = multiplied(FULL), multiplied(half)
    noisy = multiplied(FULL, matrix="del", aa_gap=0.9), multiplied(half, matrix="del", aa_gap=0.9)
    groups = {group.matrix_id: group for group in product_groups(shown(*quiet, *noisy))}
    assert pair(groups["del"], "csr/thread", half) is None
    found = pair(groups["lux"], "csr/thread", half)
    assert found is not None
    assert found.verdict == "faster"
