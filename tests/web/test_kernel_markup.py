import re

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats import findings
from tests.samples.formats import timed
from web.kernel_markup import as_code, breakable, kernels_in_code

FOUND = findings(StudyData([timed(kernel, 1e-3) for kernel in ("csr/vector", "csr/vector+rcm", "pCSR/p*", "a<b")]))


@pytest.mark.parametrize(
    ("sentence", "html"),
    [
        ("csr/vector is fastest.", "<code>csr/vector</code> is fastest."),
        ("csr/vector+rcm, csr/vector", "<code>csr/vector+rcm</code>, <code>csr/vector</code>"),
        ("csr/vector+degree, hcsr/vector and pCSR/p*-opt", "csr/vector+degree, hcsr/vector and pCSR/p*-opt"),
        ("<b>pCSR/p*</b> & a<b.", "&lt;b&gt;<code>pCSR/p*</code>&lt;/b&gt; &amp; <code>a&lt;b</code>."),
    ],
)
def test_names_of_kernels_are_code_and_nothing_else_is(sentence: str, html: str) -> None:
    assert as_code(sentence, FOUND) == html


def test_without_findings_a_sentence_is_escaped_text() -> None:
    assert as_code("csr/vector <i>", ()) == "csr/vector &lt;i&gt;"


@pytest.mark.parametrize(
    ("sentence", "codes"),
    [
        ("csr/thread+unfused-cpms2, and cusparse/csr_alg1.", ["csr/thread+unfused-cpms2", "cusparse/csr_alg1"]),
        ("pCSR/p*-opt reaches 12 GFLOP/s, 3.1 TB/s, 4 kB/s.", ["pCSR/p*-opt"]),
        ("1/43/68/6 iterations in 16/32 bits; on 28/02.", []),
        ("few-rows-2 12.9 × csr/vector, sellp-packed/t2.", ["csr/vector", "sellp-packed/t2"]),
    ],
)
def test_what_is_written_like_a_kernel_is_code(sentence: str, codes: list[str]) -> None:
    html = kernels_in_code(sentence)
    assert re.findall("<code>(.*?)</code>", html) == codes
    assert html.replace("<code>", "").replace("</code>", "") == sentence


def test_lines_end_between_the_parts_of_a_name() -> None:
    assert breakable("split/tile+ir64") == "split/tile+<wbr>ir64"
    assert breakable("custom:spmv/vector") == "custom:<wbr>spmv/vector"
    assert breakable("a<b/c") == "a&lt;b/c"
