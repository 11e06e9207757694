"""Table of the printed throughputs of Figures 6 and 7 of the batched SpMV paper next to measured ones."""

from collections.abc import Sequence

from gpu_engine.findings.batched.groups import BATCH, BatchGroup, bandwidth, batch_groups, largest
from gpu_engine.findings.batched.paper import BANDWIDTHS, EXPERIMENTS, RATES
from gpu_engine.findings.batched.trials import COO
from gpu_engine.findings.data import StudyData
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

WARM = "warm"
"""Cache state of the paper: it repeats an SpMV."""


def printed_rates(data: StudyData, figure: str) -> Table:
    """Return a row per kernel: printed throughput, ratio to COO, and bandwidth, then the same on each device.

    figure  `Figure 6` or `Figure 7`
    """
    groups = [group for group in batch_groups(data) if group.timed and group.cache == WARM]
    mixtures = [group for group in largest(groups, data.number(BATCH)) if EXPERIMENTS[figure](group, data)]
    names = ("throughput", "GFLOP/s"), ("ratio to COO", ""), ("bandwidth", "GB/s")
    devices = ["the paper, P100", *(group.device for group in mixtures)]
    heads = (Head(name, f"{unit} {device}".strip()) for device in devices for name, unit in names)
    rows = [(kernel, *_printed(kernel, figure), *_measured(kernel, mixtures)) for kernel in RATES[figure]]
    return Table((Head("kernel", numeric=False), *heads), tuple(rows) if mixtures else ())


def _printed(kernel: str, figure: str) -> tuple[str, str, str]:
    rates = {name: float(printed.low) for name, printed in RATES[figure].items()}
    bandwidths = BANDWIDTHS[figure]
    return RATES[figure][kernel].low, units.ratio(rates[kernel] / rates[COO]), bandwidths.get(kernel, units.MISSING)


def _measured(kernel: str, mixtures: Sequence[BatchGroup]) -> tuple[str, ...]:
    cells: list[str] = []
    for group in mixtures:
        m, coo = group.of(kernel), group.of(COO)
        ratio = m.gflops / coo.gflops if m and coo and m.gflops and coo.gflops else None
        moved = bandwidth(m) if m else None
        rate = units.number(m.gflops if m else None)
        cells += [rate, units.ratio(ratio), units.number(moved / 1e9 if moved else None)]
    return tuple(cells)
