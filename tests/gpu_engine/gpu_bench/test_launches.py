"""The trial of launches: constants that are changed and put back, and the table of what was found."""

import pytest

from gpu_engine.formats import FORMATS
from gpu_engine.gpu_bench.launches import BLOCK, MODULES, Trial, launched, table


@pytest.mark.parametrize("name", MODULES)
def test_kernels_are_launched_otherwise_in_the_block_alone(name: str) -> None:
    module = MODULES[name]
    before = module.AHEAD, module.BLOCK, module.SOURCE
    other = before[0] + 1
    with launched(module, (other, BLOCK[0])):
        assert (other, BLOCK[0]) == (module.AHEAD, module.BLOCK)
        assert len(module.SOURCE.instantiations) == len(before[2].instantiations)
        assert all(f"{other}>" in instantiation for instantiation in module.SOURCE.instantiations)
    assert before == (module.AHEAD, module.BLOCK, module.SOURCE)


def test_every_format_with_such_constants_is_tried() -> None:
    sources = {module.SOURCE for module in MODULES.values()}
    assert {f.name for f in FORMATS if any(kernel.source in sources for kernel in f.kernels)} == set(MODULES)


def test_launches_stand_in_the_order_of_their_means() -> None:
    now = MODULES["jad"].AHEAD, MODULES["jad"].BLOCK
    found = [
        Trial("even", "jad", {now: 2.0, (1, 64): 1.0, (3, 32): 4.0}),
        Trial("uneven", "jad", {now: 2.0, (1, 64): 4.0, (3, 32): 8.0}),
    ]
    (row,) = table(found).splitlines()[2:]
    ahead, block = now
    assert row == f"| jad | 2 | {ahead}/{block} | 1.414 | {ahead}/{block} 1.414, 1/64 1.414, 3/32 4.000 |"
