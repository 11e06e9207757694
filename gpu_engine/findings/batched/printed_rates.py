"""Table of the printed throughputs of Figures 6 and 7 of the batched SpMV paper next to measured ones."""

from gpu_engine.findings.batched.groups import BATCH, BatchGroup, bandwidth_with_padding, batch_groups, largest
from gpu_engine.findings.batched.paper import BANDWIDTHS, EXCEEDED, EXPERIMENTS, RATES
from gpu_engine.findings.batched.trials import COO
from gpu_engine.findings.data import StudyData
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

WARM = "warm"
"""Cache state of the paper: it repeats an SpMV."""

HEADS = (
    Head("kernel", numeric=False),
    Head("measured on", numeric=False),
    Head("throughput", "GFLOP/s"),
    Head("ratio to COO"),
    Head("bandwidth", "GB/s with padding"),
)


def printed_rates(data: StudyData, figure: str) -> Table:
    """Return a row per kernel and device, that of the paper first: throughput, ratio to COO, and bandwidth.

    figure  `Figure 6` or `Figure 7`
    """
    groups = [group for group in batch_groups(data) if group.timed and group.cache == WARM]
    mixtures = [group for group in largest(groups, data.number(BATCH)) if EXPERIMENTS[figure](group, data)]
    rows = [
        row
        for kernel in RATES[figure]
        for row in (_printed(kernel, figure), *(_measured(kernel, mixture) for mixture in mixtures))
    ]
    return Table(HEADS, tuple(rows) if mixtures else ())


def _printed(kernel: str, figure: str) -> tuple[str, ...]:
    """Return the printed row; of a rate that the text only says is exceeded, no exact ratio is known."""
    rate, exceeded = RATES[figure][kernel].low, EXCEEDED.get(figure, ())
    ratio = units.ratio(float(rate) / float(RATES[figure][COO].low))
    if kernel in exceeded:
        rate, ratio = f"above {rate}", units.ratio(1.0) if kernel == COO else units.MISSING
    elif COO in exceeded:
        ratio = f"at most {ratio}"
    return kernel, "the paper, P100", rate, ratio, BANDWIDTHS[figure].get(kernel, units.MISSING)


def _measured(kernel: str, group: BatchGroup) -> tuple[str, ...]:
    m, coo = group.of(kernel), group.of(COO)
    ratio = m.gflops / coo.gflops if m and coo and m.gflops and coo.gflops else None
    moved = bandwidth_with_padding(m) if m else None
    rate = units.number(m.gflops if m else None)
    return kernel, group.device, rate, units.ratio(ratio), units.number(moved / 1e9 if moved else None)
