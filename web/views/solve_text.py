"""The text of the answer on a matrix for one solve."""

from gpu_engine.findings.formats.csr_kernels import keeps_csr
from gpu_engine.findings.solvers.choice import SolveChoice
from gpu_engine.findings.solvers.groups import base_text, others_text
from gpu_engine.findings.solvers.solve_model import ERROR_WORST, ON_H200, Accuracy
from gpu_engine.text import units
from gpu_engine.text.words import amount
from web.components import Link
from web.device_labels import short
from web.matrix_contexts import SolveCard
from web.studies.solvers import SOLVERS
from web.views.matrix_answer import MEASURED, time_text
from web.views.matrix_prediction import PREDICTED

WARM = "warm"
"""Cache state of the SpMVs of a solve."""

ORIGINS = {"spmvs": "from measured SpMVs", "structure": "from its structure"}
"""Basis of a predicted choice → where its SpMV times are from."""


def card_of(
    choice: SolveChoice, matrix_id: str, can_measure: bool, accuracy: Accuracy | None, cache: str = WARM
) -> SolveCard:
    """Return the answer as text, with a link to its results, or to the form that measures it.

    accuracy  of the cost model on the GPU model of the device; None if it is unknown
    cache     cache state of the SpMVs beside the answer; a solve always has a warm cache
    """
    parts = filter(None, (_range(choice), _share(choice), _pays(choice)))
    form = Link("Measure solves", f"/measure?study={SOLVERS.name}&matrix_ids={matrix_id}") if can_measure else None
    results = Link("All measured solves", f"/{SOLVERS.name}?matrix={matrix_id}")
    return SolveCard(
        state=MEASURED if choice.measured else PREDICTED,
        when=_origin(choice),
        sentence=_sentence(choice, "" if cache == WARM else f" ({WARM} cache)"),
        under=tuple(filter(None, (" ".join(parts), _rival(choice), _note(choice, accuracy or ON_H200)))),
        kernel=choice.kernel,
        link=results if choice.measured else form,
    )


def _sentence(choice: SolveChoice, warm: str) -> str:
    """Return the kernel and the time of the solve, in at most 25 words; warm: the cache state, or empty."""
    question, about = choice.question, "" if choice.measured else "about "
    solve = f"For a solve of {amount(question.iterations, 'iteration')} by {question.method.title}{warm}"
    time = f"{about}{time_text(choice.total_s)}"
    if keeps_csr(choice.kernel):
        return f"{solve}, keep CSR: {choice.kernel} takes {time}."
    csr = base_text(choice.csr, choice.is_csr_only)
    if choice.is_close:
        return f"{solve}, {choice.kernel} takes {time}: too close to tell from {csr}."
    gain = f", speedup {units.judged_ratio(choice.speedup)} over {csr}" if choice.speedup else " in all"
    return f"{solve}, take {choice.kernel}: {time}{gain}."


def _range(choice: SolveChoice) -> str:
    """Return the range of the time, and the conversion in it."""
    converts = choice.convert_s and not keeps_csr(choice.kernel)
    of_it = f", with {units.seconds(choice.convert_s)} for the conversion" if converts else ""
    ends = None if keeps_csr(choice.kernel) else choice.speedups
    gain = f", speedup {units.ratio_interval(ends, beside_verdict=True)}" if ends else ""
    return f"Range: {time_text(choice.low_s)} – {time_text(choice.high_s)}{gain}{of_it}."


def _share(choice: SolveChoice) -> str:
    """Return the share of the SpMVs; empty if it is unknown."""
    return "" if choice.spmv_share is None else f"SpMVs: {units.percent(choice.spmv_share)} of the solve."


def _pays(choice: SolveChoice) -> str:
    """Return from how many iterations on a conversion pays; empty if it is unknown."""
    if keeps_csr(choice.kernel):
        if choice.convert_s is None:
            return ""
        if choice.later is None:
            return "No other format pays back."
        iterations, kernel = choice.later
        return f"{kernel} pays back from {amount(iterations, 'iteration')} on."
    if choice.convert_s is None:
        return "Its conversion time is unknown."
    if not choice.pays_from or choice.is_close:
        return ""
    since = "the first iteration" if choice.pays_from == 1 else amount(choice.pays_from, "iteration")
    return f"Converting pays back from {since} on."


def _origin(choice: SolveChoice) -> str:
    """Return where the time is from."""
    if choice.measured is None:
        return ORIGINS[choice.basis]
    m = choice.measured.measurement
    of = f"{short(m.device)}, {amount(m.details.iterations, 'iteration')}"
    return ", ".join((of, f"to {units.scientific(choice.measured.rtol)}", *others_text(m.axes)))


def _rival(choice: SolveChoice) -> str:
    """Return which kernel without a measured solve may be faster; empty without one."""
    if choice.rival is None:
        return ""
    kernel, seconds = choice.rival
    return f"{kernel} has no measured solve. The model predicts {time_text(seconds)}."


def _note(choice: SolveChoice, accuracy: Accuracy) -> str:
    """Return the error of the cost model, and what it assumes; empty for a measured solve."""
    if choice.measured is not None:
        return ""
    error = choice.high_s / choice.total_s
    if error >= ERROR_WORST:
        text = f"Low confidence: the largest error on {_solves(ON_H200)} was a factor of {ERROR_WORST:g}."
    else:
        text = f"The model predicted 90{units.THIN}% of {_solves(accuracy)} within a factor of {error:.2f}."
    return f"{text} CG needs a positive definite matrix." if choice.question.method.name == "cg" else text


def _solves(accuracy: Accuracy) -> str:
    """Return the solves that an error is about."""
    return f"{accuracy.solves} solves on an {accuracy.gpu}"
