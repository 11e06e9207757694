"""Page of the `solvers` study: complete solves of A·x = b."""

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.solvers import contests, findings, overview
from gpu_engine.findings.solvers.consistent import consistent
from gpu_engine.findings.solvers.tables import conversions, one_solve
from gpu_engine.studies.solvers import SolversStudy
from web.components import TitledTable
from web.figures.base import Figure
from web.figures.solvers import residuals, shares, times
from web.studies.answers import solvers as answer
from web.studies.answers import solvers_drawer
from web.studies.base import Section, StudyPage, on_cpu

CPU_CAVEAT = (
    "These timings are from a CPU, where the host launches each step of a method. The shares are different on a GPU."
)

FIGURES = (
    Figure("solvers-time", "Time of one solve", times.draw, times.summary, times.table, info=times.info),
    Figure(
        "solvers-residual",
        "Convergence",
        residuals.draw,
        residuals.summary,
        residuals.table,
        info=residuals.info,
    ),
    Figure("solvers-share", "Share of the SpMV", shares.draw, shares.summary, shares.table, info=shares.info),
)


def _one_solve(data: StudyData) -> tuple[TitledTable, ...]:
    return (TitledTable("Methods and preconditioners by the total of one solve", one_solve(data)),)


def _conversions(data: StudyData) -> tuple[TitledTable, ...]:
    return (TitledTable("Conversions against the fastest measured CSR kernel", conversions(data)),)


SOLVERS = StudyPage(
    study=SolversStudy(),
    link="Solvers",
    title="Solvers of A·x = b",
    lead="Complete solves by Krylov methods, with the SpMV kernel of each format and by libraries. "
    "A solve ends when the true residual meets the tolerance.",
    invitation="Open a square matrix, choose Solvers, and press Measure. CG and MINRES need a symmetric matrix.",
    findings=findings,
    explore=answer.explore,
    drawer=solvers_drawer.drawer,
    figures=FIGURES,
    contests=contests,
    what="solves",
    overview=overview,
    caveat=lambda data: CPU_CAVEAT if on_cpu(data) else "",
    sections=(
        Section(
            "one-solve",
            "One solve",
            _one_solve,
            (
                "Total: conversion, set-up, and one solve. It decides which kernel a row has.",
                "Pays from: number of solves with one conversion and set-up from which the row takes less in total.",
            ),
        ),
        Section(
            "conversions",
            "Conversions that pay back",
            _conversions,
            ("Break-even: conversion time / time that an iteration saves against the fastest measured CSR kernel.",),
        ),
    ),
    with_traces=True,
    records=consistent,
)
