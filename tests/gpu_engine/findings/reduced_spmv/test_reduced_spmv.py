"""What products in segments allow to say: which block is best, what reading less gains, whether Figure 4 holds."""

from dataclasses import replace

import pytest

from gpu_engine.findings.reduced_spmv import findings, overview
from gpu_engine.findings.reduced_spmv.groups import best_block, group_by_setting, product_groups
from gpu_engine.findings.reduced_spmv.tables import gains, touched
from gpu_engine.pagerank.products import Product
from gpu_engine.text.units import THIN
from tests.samples.reduced_spmv import every, multiplied, refused, shown

FASTER = {("csr/thread", Product(2, 1)): 2.0}
GAINS = (
    f"1.60{THIN}× with 32 of two segments' bits (only values 1.36{THIN}×, only ranks 1.12{THIN}×; paper: about 1.5)."
)
GAINS_OF_FOUR = (
    f"1.25{THIN}× with 16 of four segments' bits (only values 1.15{THIN}×, only ranks 1.05{THIN}×; paper: about 2)."
)


def test_a_product_is_compared_with_the_same_layout_in_fp64() -> None:
    (group,) = product_groups(shown(*every(gains=FASTER)))
    assert group.gain("csr/thread", Product(2, 1)) == pytest.approx(2.0)
    assert group.gain("ell/thread", Product(2, 1)) == pytest.approx(1.6)
    assert group.gain("ell/thread", Product(4, 4, "A", "separate")) == pytest.approx((1 - 0.2 * 0.6) / 1.25)
    assert group.gain("ell/thread", Product(2, 1, "both", "32")) is None


def test_the_mean_over_the_graphs_is_of_one_device_and_part() -> None:
    data = shown(
        *every("lux", gains=FASTER),
        *every("del", layouts=("csr/thread",)),
        *every("del", device="cuda:1"),
        *every("lux", triangle="lower"),
    )
    here, there, lower = group_by_setting(product_groups(data))
    assert [(setting.name, len(setting.groups)) for setting in (here, there, lower)] == [
        *[("cuda:0", 2), ("cuda:1", 1), ("cuda:0, lower triangles", 1)]
    ]
    found = here.gain("csr/thread", Product(2, 1))
    assert found
    assert (found.value, found.low, found.high, found.graphs) == (*map(pytest.approx, ((1.6 * 2) ** 0.5, 1.6, 2.0)), 2)
    ell = here.gain("ell/thread", Product(2, 1))
    assert ell
    assert ell.graphs == 1
    assert here.gain("csr/thread", Product(2, 1, "both", "32")) is None


def test_the_best_block_has_the_fastest_products_and_verdicts_beside_the_next() -> None:
    (setting,) = group_by_setting(product_groups(shown(*every(blocks=("32", "128", "separate")))))
    found = best_block(setting)
    assert found
    assert (found.block, found.other) == ("128", "32")
    assert found.ratio == pytest.approx(1.1)
    assert (found.verdicts, found.is_settled) == ({"faster": 36}, True)
    # Products that are in one block alone say nothing of blocks.
    (lone,) = group_by_setting(
        product_groups(shown(*every(blocks=("128",)), multiplied(Product(2, 1, "p", "32"), gain=9.0)))
    )
    own = best_block(lone)
    assert own
    assert (own.block, own.products) == ("32", 1)
    (single,) = group_by_setting(product_groups(shown(*every(blocks=("64",)))))
    assert (best_block(single), single.block) == (None, "64")


def test_the_sentences_answer_first() -> None:
    (finding,) = findings(shown(*every()))
    assert finding.sentences == (
        "Blocks of 128 bytes are best. Speedup 1.25 × over separate arrays (geometric mean), faster in 36 of 36 "
        "SpMVs, slower in 0.",
        *(
            f"Speedup of {layout} over fp64: {GAINS} Speedup of {layout} over fp64: {GAINS_OF_FOUR}"
            for layout in ("csr/thread", "ell/thread")
        ),
        "Of the paper's 12 statements on Figure 4, 10 agree, 2 disagree with these times.",
        f"ell/thread+cpms2, 1 of both, 128 bytes is fastest on cuda:0: 500{THIN}µs.",
    )
    assert (finding.leaders, finding.decided) == (("ell/thread+cpms2, 1 of both, 128 bytes",), True)


def test_blocks_that_differ_in_few_products_are_not_called_best() -> None:
    (finding,) = findings(shown(*every(blocks=("64", "128"), gains={("csr/thread", Product(2, 1)): 1.7})))
    assert finding.sentences[0] == (
        "No block size is measurably better. Blocks of 128 bytes: same time as blocks of 64 bytes (geometric "
        "mean), faster in 1 of 36 SpMVs, slower in 0."
    )


def test_of_several_graphs_the_mean_is_said_first_and_a_busy_one_is_left_out() -> None:
    data = shown(*every("lux", gains=FASTER), *every("del"))
    first, csr, ell, paper = overview(data)
    assert first.startswith("Over 2 graphs on cuda:0: blocks of 128 bytes are best. Speedup 1.25 ×")
    assert csr.startswith(f"Speedup of csr/thread over fp64: 1.79{THIN}× with 32")
    assert ell.startswith(f"Speedup of ell/thread over fp64: {GAINS}")
    assert paper == "Of the paper's 12 statements on Figure 4, 9 agree, 3 disagree with these times."
    busy = [replace(m, aa_gap=0.3) for m in every("del")]
    assert overview(shown(*every("lux"), *busy)) == []
    (said,) = (f.sentences for f in findings(shown(*busy)))
    assert len(said) == 1
    assert said[0].startswith("Too noisy to rank")


def test_what_does_not_fit_has_its_reason() -> None:
    (finding,) = findings(shown(*refused("needs 41 GB of memory; the limit is 16 GB")))
    assert finding.sentences == ("No SpMV was timed: needs 41 GB of memory; the limit is 16 GB.",)
    (with_csr,) = findings(shown(*every(layouts=("csr/thread",)), *refused("needs 41 GB")))
    assert not any("ell/thread" in sentence for sentence in with_csr.sentences)
    assert {row.word for row in with_csr.rows if row.measurement.format == "ell"} == {"skipped"}


def test_the_numbers_have_a_column_a_block_and_what_the_paper_prints() -> None:
    table = gains(shown(*every(layouts=("csr/thread",)), *every("del", layouts=("csr/thread",))))
    assert [f"{head.text} {head.unit}".rstrip() for head in table.heads] == [
        *("device", "layout", "segments", "read", "in segments", "graphs", "128 bytes", "separate", "paper V100")
    ]
    rows = {row[2:5]: [cell.replace(THIN, " ") for cell in row[5:]] for row in table.rows}
    assert len(rows) == 18
    assert rows["2", "1", "both"] == ["2", "1.60 ×", "1.28 ×", "about 1.50 ×"]
    assert rows["4", "1", "both"] == ["2", "1.25 ×", "1.00 ×", "about 2.00 ×"]
    assert rows["4", "2", "both"][-1] == "about 1.05 ×"
    assert rows["4", "3", "both"][-1] == rows["4", "2", "A"][-1] == "–"


def test_what_a_warp_touches_has_one_column_of_sectors_and_one_of_lines_a_block() -> None:
    table = touched(shown(*every(blocks=("32", "128"), layouts=("ell/thread",))))
    assert [head.text for head in table.heads[-3:]] == ["sectors", "lines, 32 bytes", "lines, 128 bytes"]
    rows = {row[2:5]: row[5:] for row in table.rows}
    assert rows["ranks", "4", "3"] == ("48.0", "12.0", "36.0")
    assert rows["values", "2", "2"] == ("8.00", "2.00", "2.00")
