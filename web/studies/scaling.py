"""Page of the `scaling` study: one matrix on several devices."""

from collections.abc import Sequence

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling import conclusions, contests, findings
from gpu_engine.findings.scaling.balance import tables
from gpu_engine.findings.scaling.cases import WORKS, has_control, is_virtual, no_control_text
from gpu_engine.findings.scaling.groups import DEVICES, devices_in_words, numbers_of_devices
from gpu_engine.findings.scaling.sentences import VIRTUAL_CAVEAT
from gpu_engine.findings.scaling.weak_scaling import weak_scaling
from gpu_engine.multigpu.from_host.strategies import PAPER_STRATEGIES
from gpu_engine.studies.scaling import ScalingStudy
from web.components import Choice, TitledTable
from web.figures.base import Figure
from web.figures.scaling import balance, iteration, phases, ratio, speedup
from web.palette import partitioning_style
from web.results import Results
from web.selection import one_of, whole_number
from web.studies.answers import scaling as answer
from web.studies.base import Section, Select, StudyPage, Switch, conclusions_section

FIGURES = (
    Figure(
        "scaling-cold",
        "Speedup of SpMV from host memory",
        speedup.draw,
        speedup.summary,
        speedup.table,
        info=speedup.from_host,
    ),
    Figure(
        "scaling-phases",
        "Time per phase",
        phases.draw,
        phases.summary,
        phases.table,
        info=phases.info,
    ),
    Figure("scaling-balance", "Nonzeros per device", balance.draw, balance.summary, balance.table, info=balance.info),
    Figure(
        "scaling-ratio",
        "Performance by the ratio of nonzeros",
        ratio.draw,
        ratio.summary,
        ratio.table,
        matrices_min=2,
        info=ratio.info,
    ),
    Figure(
        "scaling-staying",
        "Speedup, matrix resident on the devices",
        speedup.draw,
        speedup.summary,
        speedup.table,
        info=speedup.staying,
    ),
    Figure(
        "scaling-iteration",
        "Phases of an iteration",
        iteration.draw,
        iteration.summary,
        iteration.table,
        info=iteration.info,
    ),
)


def _is_virtual(data: StudyData) -> bool:
    return any(is_virtual(m) for m in data.measurements)


def _caveat(data: StudyData) -> str:
    """Return what limits the results: simulated devices, or GPUs without a control kernel."""
    unsure = any(m.median_s and not is_virtual(m) and not has_control(m) for m in data.measurements)
    notes = (VIRTUAL_CAVEAT if _is_virtual(data) else "", no_control_text() if unsure else "")
    return " ".join(filter(None, notes))


def _numbers(results: Results) -> Sequence[Choice]:
    data, chosen = results.data, results.data.number(DEVICES)
    offered = sorted({*numbers_of_devices(data), *((chosen,) if chosen else ())})
    virtual = _is_virtual(data)
    choices = (Choice(str(number), devices_in_words(number, virtual), number == chosen) for number in offered)
    return (Choice("", "all devices", not chosen), *choices) if results.measurements else ()


def _phases(results: Results) -> Sequence[str]:
    return (phases.TIMES, phases.SHARES) if phases.info(results.data).bars.panels else ()


def _balance(data: StudyData) -> Sequence[TitledTable]:
    """Return the tables of all workloads except the first, whose table belongs to the figure."""
    return [TitledTable(f"Table of values, {WORKS[work]}", table) for work, table in tables(data)[1:]]


def _weak(data: StudyData) -> Sequence[TitledTable]:
    table = weak_scaling(data)
    return [TitledTable("Weak scaling", table)] if table.rows else []


SCALING = StudyPage(
    study=ScalingStudy(),
    link="Scaling",
    title="Multi-GPU SpMV",
    lead="The matrix is partitioned over several devices. Speedup, cost of partitioning, transfer, and merge, and load "
    "balance.",
    invitation="Open a matrix, choose Scaling, and press Measure. Without several GPUs, simulated "
    "devices (CPU threads) run the same partitions.",
    findings=findings,
    explore=answer.explore,
    drawer=answer.drawer,
    figures=FIGURES,
    contests=contests,
    of_paper=lambda kernel: kernel.partition("/")[2] in {strategy.name for strategy in PAPER_STRATEGIES},
    caveat=_caveat,
    switches=(
        Switch(
            phases.PHASES,
            "Phases",
            _phases,
            lambda results: (results.data.choice(phases.PHASES, phases.TIMES),),
            figure="scaling-phases",
        ),
    ),
    parameters=(
        whole_number(DEVICES, 9999, "devices"),
        one_of(phases.PHASES, (phases.TIMES, phases.SHARES)),
    ),
    selects=(Select("devices", DEVICES, "Number of devices", _numbers),),
    swatch=lambda m: partitioning_style(m.format).color,
    conclusions=conclusions_section(
        "Statements of the paper on these devices",
        conclusions.table,
        "The paper measured SpMV from host memory on six and eight V100, with kernels of cuSPARSE on each GPU. Each "
        "statement is judged with the kernels of Sparsight and the merges of the paper. A case is a matrix with a "
        "partitioning on a number of devices. Shares of the time are judged on matrices with at least 28 million "
        "nonzeros, like the smallest of the paper. Mostly: holds for more than half. Seldom: for half or fewer. More "
        "than half is enough to agree if the paper speaks of most cases.",
    ),
    sections=(
        Section("balance-works", "", _balance, figure="scaling-balance"),
        Section(
            "weak",
            "Weak scaling",
            _weak,
            (
                "Matrices of one generator that grow with the number of devices: nonzeros per device and mean row "
                "lengths agree within 10 %. Weak efficiency: time on one device / time on several. It has no verdict, "
                "because different matrices have different rounds.",
            ),
        ),
    ),
    cases_note="One table per workload; times of different workloads are never compared. SpMV from host memory "
    "includes all transfers from the arrays on the host to y on the host. The other workloads begin and end with "
    "vectors on the devices. No cache is flushed between SpMVs.",
)
