"""The page of the `scaling` study: one matrix shared by several devices."""

from collections.abc import Sequence

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling import conclusions, contests, findings
from gpu_engine.findings.scaling.balance import tables
from gpu_engine.findings.scaling.cases import WORKS, is_virtual
from gpu_engine.findings.scaling.groups import DEVICES, devices_in_words, numbers_of_devices
from gpu_engine.findings.scaling.sentences import VIRTUAL_CAVEAT
from gpu_engine.findings.scaling.weak import weak_scaling
from gpu_engine.multigpu.from_host.strategies import PAPER_STRATEGIES
from gpu_engine.studies.scaling import ScalingStudy
from web.figures.base import Figure
from web.figures.scaling import balance, iteration, phases, ratio, speedup
from web.palette import partitioning_style
from web.parts import Choice, TitledTable
from web.results import Results
from web.selection import one_of, whole_number
from web.studies.base import Section, Select, StudyPage, Switch, conclusions_section

FIGURES = (
    Figure(
        "scaling-cold",
        "Speed-up of products from the host",
        speedup.draw,
        speedup.summary,
        speedup.table,
        info=speedup.from_host,
    ),
    Figure(
        "scaling-phases",
        "Where the time of a product goes",
        phases.draw,
        phases.summary,
        phases.table,
        info=phases.info,
    ),
    Figure(
        "scaling-balance", "Nonzeros of each device", balance.draw, balance.summary, balance.table, info=balance.info
    ),
    Figure(
        "scaling-ratio",
        "Equal rows where rows have two lengths",
        ratio.draw,
        ratio.summary,
        ratio.table,
        matrices_min=2,
        info=ratio.info,
    ),
    Figure(
        "scaling-staying",
        "Speed-up where the matrix stays on the devices",
        speedup.draw,
        speedup.summary,
        speedup.table,
        info=speedup.staying,
    ),
    Figure(
        "scaling-iteration",
        "What an iteration is made of",
        iteration.draw,
        iteration.summary,
        iteration.table,
        info=iteration.info,
    ),
)


def _is_virtual(data: StudyData) -> bool:
    return any(is_virtual(m) for m in data.measurements)


def _numbers(results: Results) -> Sequence[Choice]:
    data, chosen = results.data, results.data.number(DEVICES)
    offered = sorted({*numbers_of_devices(data), *((chosen,) if chosen else ())})
    virtual = _is_virtual(data)
    choices = (Choice(str(number), devices_in_words(number, virtual), number == chosen) for number in offered)
    return (Choice("", "as many as there are", not chosen), *choices) if results.measurements else ()


def _phases(results: Results) -> Sequence[str]:
    return (phases.TIMES, phases.SHARES) if phases.info(results.data).bars.panels else ()


def _balance(data: StudyData) -> Sequence[TitledTable]:
    """All but the first work, whose table the figure has."""
    return [TitledTable(f"The numbers, {WORKS[work]}", table) for work, table in tables(data)[1:]]


def _weak(data: StudyData) -> Sequence[TitledTable]:
    table = weak_scaling(data)
    return [TitledTable("Weak scaling", table)] if table.rows else []


SCALING = StudyPage(
    study=ScalingStudy(),
    link="Scaling",
    title="One matrix on several devices",
    lead="A matrix cut into parts, one for each device: how much faster products and iterations get, what cutting, "
    "copying, exchanging and merging cost, and how evenly the nonzeros are shared.",
    invitation="Open a matrix, choose the study scaling and press Measure, or choose another device, number of "
    "devices or matrix. Without several GPUs the same parts run on virtual devices, threads of the CPU.",
    recorded_as="see scaling",
    findings=findings,
    figures=FIGURES,
    job_figures=("scaling-cold", "scaling-staying"),
    contests=contests,
    of_paper=lambda kernel: kernel.partition("/")[2] in {strategy.name for strategy in PAPER_STRATEGIES},
    caveat=lambda data: VIRTUAL_CAVEAT if _is_virtual(data) else "",
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
        "The paper’s conclusions, and these devices",
        conclusions.table,
        "The paper measured products from the host on six and eight V100. Each statement is judged by our own "
        "product, matrix by matrix and cut by cut; what does not hold is named. Mostly: it holds for more than "
        "half; seldom: for fewer; where the paper speaks of most cases, more than half is enough.",
    ),
    sections=(
        Section("balance-works", "", _balance, figure="scaling-balance"),
        Section(
            "weak",
            "Weak scaling",
            _weak,
            (
                "Matrices of one kind that grow with the number of devices, so that each has as many nonzeros as the "
                "one device beside it: within 10 %, of mean row lengths too. The share is the time on one device over "
                "that on several; it carries no verdict, for matrices are sampled in rounds of their own.",
            ),
        ),
    ),
    cases_note="A table a work: their times are never compared. A product from the host counts everything from the "
    "host’s arrays to y on the host; the others begin and end with the vectors on the devices. Nothing is flushed "
    "between calls.",
)
