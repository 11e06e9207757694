"""Findings of SpMMs: who is fastest, by how much one SpMM beats k SpMVs, and from how many columns on."""

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.spmm import contests, findings, overview
from gpu_engine.findings.spmm.answer import answers
from gpu_engine.findings.spmm.groups import crossover, series_of, spmm_groups
from gpu_engine.findings.spmm.names import label, spmvs_of
from gpu_engine.findings.spmm.tables import NOISY, by_columns, crossovers
from gpu_engine.findings.verdict_reasons import WORDS_MAX
from gpu_engine.text.units import THIN
from tests.samples.spmm import every, multiplied, refused, shown

BOTH = shown(*every(), *every("fem", scale=2.0), *every("fem", order="column"))


def columns(data: StudyData, *heads: tuple[str, str]) -> list[tuple[str, ...]]:
    table = by_columns(data)
    places = [[(head.text, head.unit) for head in table.heads].index(head) for head in heads]
    return [tuple(row[place].replace(THIN, " ") for place in places) for row in table.rows]


def test_a_group_is_a_matrix_device_cache_order_and_number_of_columns() -> None:
    groups = spmm_groups(BOTH)
    assert [(g.matrix_id, g.order, g.k) for g in groups] == [
        (matrix, order, k)
        for matrix, order in (("plane", "row"), ("fem", "row"), ("fem", "column"))
        for k in (2, 8, 32)
    ]
    assert [len(groups) for groups in series_of(groups).values()] == [3, 3, 3]
    chosen = shown(*every(), chosen={"k": ("8",)})
    assert [g.k for g in spmm_groups(chosen)] == [8]
    assert [g.k for g in spmm_groups(chosen, every=True)] == [2, 8, 32]


def test_one_spmm_is_that_of_sparsight_and_is_compared_with_the_fastest_alternatives() -> None:
    two, eight, most = spmm_groups(shown(*every()))
    for group in (two, eight, most):
        assert group.spmm is not None
        assert group.library is not None
        assert group.spmvs is not None
        assert group.over_spmvs is not None
        assert group.over_library is not None
        kernels = group.spmm.kernel, group.library.kernel, group.spmvs.kernel
        assert kernels == ("csr/rows", "cusparse/spmm_csr_alg2", "spmv/csr-vector")
    assert [group.ranking.leaders[0].kernel for group in (two, eight, most)] == [
        "spmv/csr-vector",
        "csr/rows",
        "cusparse/spmm_csr_alg2",
    ]
    assert [(v.kind, round(v.ratio or 0, 2)) for g in (two, eight, most) if (v := g.over_spmvs)] == [
        ("slower", 0.73),
        ("faster", 2.0),
        ("faster", 4.0),
    ]
    assert [(v.kind, round(v.ratio or 0, 2)) for g in (two, eight, most) if (v := g.over_library)] == [
        ("faster", 1.05),
        ("faster", 1.5),
        ("slower", 0.75),
    ]


def test_without_sparsight_one_spmm_is_that_of_a_library() -> None:
    (group,) = spmm_groups(shown(multiplied("cusparse/spmm_csr_alg2"), multiplied("spmv/csr-vector")))
    assert group.spmm is group.library
    assert group.over_library is None
    assert group.over_spmvs is not None


def test_the_sentences_name_the_fastest_and_both_speedups() -> None:
    found = {f.axes["k"]: f for f in findings(shown(*every()))}
    sentences = [text.replace(THIN, " ") for text in found["8"].sentences]
    assert sentences[0].startswith("csr/rows is fastest on cuda:0, warm, with 8 columns: ")
    assert "25 % of roofline, 4.00 µs per column" in sentences[0].replace("25.0 %", "25 %")
    assert "csr/rows" in sentences[1]
    assert "8 SpMVs with csr/vector (faster)" in sentences[1]
    assert "cusparse/spmm_csr_alg2 (faster)" in sentences[2]
    assert all(len(text.split()) <= WORDS_MAX for f in found.values() for text in f.sentences)
    assert found["2"].leaders == ("k × csr/vector",)
    assert {f.baseline for f in found.values()} == {"cusparse/spmm_csr_alg2"}
    assert {f.of for f in found.values()} == {contest.of for contest in contests(shown(*every()))}


def test_the_crossover_is_the_smallest_number_from_which_one_spmm_is_faster() -> None:
    groups = spmm_groups(shown(*every()))
    assert crossover(groups) == 8
    assert crossover(groups[:1]) is None
    assert crossover(groups[1:]) == 8
    slow = [
        multiplied(kernel, 32, scale=5.0 if kernel.startswith("c") else 1.0)
        for kernel in ("csr/rows", "spmv/csr-vector")
    ]
    assert crossover(spmm_groups(shown(*(m for m in every() if m.axes["k"] != "32"), *slow))) is None
    assert [row[-2] for row in crossovers(BOTH).rows] == ["8", "8", "8"]


def test_the_table_has_fastest_kernel_speedups_and_share_per_matrix_and_columns() -> None:
    heads = ("matrix", ""), ("columns", ""), ("fastest kernel", ""), ("time", "per column"), ("speedup", "vs k SpMVs")
    cells = columns(shown(*every()), *heads)
    assert [row[:4] for row in cells] == [
        ("plane-5", "2", "k × csr/vector", "8.00 µs"),
        ("plane-5", "8", "csr/rows", "4.00 µs"),
        ("plane-5", "32", "cusparse/spmm_csr_alg2", "1.50 µs"),
    ]
    assert cells[1][4].startswith("2.00")
    assert cells[1][4].endswith("(faster)")


def test_noisy_and_skipped_kernels_lead_nothing() -> None:
    noisy = [multiplied(kernel, aa_gap=0.3) for kernel in ("csr/rows", "spmv/csr-vector")]
    (finding,) = findings(shown(*noisy))
    assert finding.busy
    assert finding.sentences == (finding.busy,)
    assert columns(shown(*noisy), ("fastest kernel", ""), ("speedup", "vs k SpMVs")) == [(NOISY, "–")]
    assert answers(shown(*noisy)) == ()
    (finding,) = findings(shown(refused("bcsr/rows", "No blocks.")))
    assert finding.sentences == ("No kernel was timed: No blocks.",)
    assert by_columns(shown(refused("bcsr/rows", "No blocks."))).rows == ()


def test_an_answer_is_for_the_middle_number_or_the_chosen_one() -> None:
    row, column = answers(BOTH)
    assert (row.order, row.k, len(row.groups)) == ("row", 8, 2)
    assert (column.order, column.k, len(column.groups)) == ("column", 8, 1)
    assert row.over_spmvs is not None
    assert row.over_library is not None
    assert (round(row.over_spmvs.mean, 2), round(row.over_library.mean, 2)) == (2.0, 1.5)
    assert row.over_spmvs.counts == {"faster": 2}
    assert row.fastest == {"csr/rows": 2}
    assert [each.k for each in row.by_columns] == [2, 8, 32]
    (chosen,) = answers(shown(*every(), chosen={"k": ("32",)}))
    assert chosen.k == 32
    assert answers(shown(*every(), chosen={"k": ("5",)})) == ()


def test_several_matrices_have_a_mean_per_number_of_columns() -> None:
    texts = [text.replace(THIN, " ") for text in overview(BOTH)]
    assert len(texts) == 3
    assert "2.00" in texts[1]
    assert "8 SpMVs" in texts[1]
    assert "1.50" in texts[1]
    assert overview(shown(*every())) == ()


def test_the_label_of_k_spmvs_names_their_kernel() -> None:
    assert spmvs_of("csr/vector16") == "spmv/csr-vector16"
    assert label("spmv/csr-vector16") == "k × csr/vector16"
    assert label("csr/rows") == "csr/rows"
