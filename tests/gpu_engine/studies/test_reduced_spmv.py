"""Study `reduced_spmv`: its cases, and what it refuses."""

from typing import Any

import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.parameters import assignments, parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies.reduced_spmv import ReducedSpmvParams, ReducedSpmvStudy

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
GRAPH = MatrixInfo("g", "g", 4_000_000, 4_000_000, 25_000_000)


def keys(**params: Any) -> list[str]:
    return [case.key for case in ReducedSpmvStudy().cases(parse_params(ReducedSpmvParams, params), [GRAPH], GPU)]


def test_the_defaults_are_both_layouts_in_the_papers_blocks_and_in_separate_arrays() -> None:
    found = keys()
    assert len(found) == len(set(found)) == 2 * (1 + 2 * (2 + 4) * 3)
    assert found[0] == "g|csr/thread+fp64|warm|"
    assert found[1] == "g|csr/thread+cpms2|warm|read=1,operands=both,block=128"
    assert found[-1] == "g|ell/thread+cpms4|warm|read=4,operands=p,block=separate"


def test_the_parameters_choose_layouts_blocks_and_the_part_of_the_graph() -> None:
    found = keys(layouts=["ell/thread"], blocks=["32"], triangle="lower")
    assert len(found) == 1 + (2 + 4) * 3
    assert found[:2] == [
        "g|ell/thread+fp64|warm|triangle=lower",
        "g|ell/thread+cpms2|warm|triangle=lower,read=1,operands=both,block=32",
    ]
    # Sizes are names here, also where somebody writes them as numbers on a command line.
    assert assignments(ReducedSpmvParams, "blocks=32,separate") == {"blocks": ["32", "separate"]}
    with pytest.raises(ParameterError, match="one of 32, 64, 128, 256, separate"):
        keys(blocks=["48"])


def test_more_products_take_longer() -> None:
    few, many = ReducedSpmvParams(blocks=("128",)), ReducedSpmvParams(blocks=("32", "64", "128", "256", "separate"))
    assert ReducedSpmvStudy().estimate_s(few, [GRAPH], GPU) < ReducedSpmvStudy().estimate_s(many, [GRAPH], GPU) < 150
