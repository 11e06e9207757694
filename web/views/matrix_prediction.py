"""The answer on a matrix from the performance model and the conversion times of matrices of a similar size."""

from collections.abc import Mapping, Sequence

from gpu_engine.advisor import EQUAL, is_sure, rank, stored_bytes
from gpu_engine.advisor.sureness import LIMITS, unfamiliar
from gpu_engine.advisor.work import Features
from gpu_engine.findings.formats.conversion_forecast import ConversionForecast, predicted_costs
from gpu_engine.findings.formats.csr_kernels import keeps_csr
from gpu_engine.findings.formats.for_n import KernelCost, best, crossovers, total_s
from gpu_engine.text import units
from gpu_engine.text.words import amount
from server.predictors import Predictor
from web.components import StatePill
from web.matrix_contexts import AnswerCard
from web.views.matrix_answer import memory_text, spmvs
from web.views.matrix_devices import DeviceOption

CSR_KERNEL = "csr/scalar"
"""Kernel whose layout is CSR."""

PREDICTED = StatePill("predicted", "predicted")

Forecasts = Mapping[str, ConversionForecast]
"""Kernel → forecast of its conversion."""


def predicted_times(predictor: Predictor, features: Features) -> dict[str, float]:
    """Return the predicted seconds of one SpMV by kernel, the shortest first; empty if it cannot be predicted."""
    if not predictor.advise(features):
        return {}
    ranked = rank(features, predictor.gpu, "warm", predictor.calibration)
    return {kernel: prediction.seconds for kernel, prediction in ranked}


def predicted_card(
    predictor: Predictor, features: Features, device: DeviceOption, n: int, forecasts: Forecasts
) -> AnswerCard | None:
    """Return the answer from the performance model; None if it cannot predict the matrix.

    forecasts  of the conversions; empty: unknown
    """
    times = predicted_times(predictor, features)
    if not times:
        return None
    confidence, when = confidence_text(predictor, features), basis_text(predictor)
    costs = predicted_costs(times, forecasts)
    csr = best([cost for cost in costs if keeps_csr(cost.kernel)], n)
    if csr is None:
        kernel, sentence, *under = _without_conversions(times, device, n)
    else:
        kernel, sentence, *under = _with_conversions(costs, csr, device, n, forecasts)
    csr_bytes = None if keeps_csr(kernel) else stored_bytes(CSR_KERNEL, features)
    memory = memory_text(stored_bytes(kernel, features), csr_bytes)
    return AnswerCard(PREDICTED, when, sentence, (*under, memory, confidence), kernel)


def named_kernels(times: Mapping[str, float], costs: Sequence[KernelCost], n: int) -> tuple[str, ...]:
    """Return the kernels that the answer names or compares with: its kernel, that of CSR, and one for more SpMVs.

    costs  with forecasts of the conversions; those of CSR are lacking without reference results
    """
    csr = best([cost for cost in costs if keeps_csr(cost.kernel)], n)
    if csr is None:
        return tuple(dict.fromkeys([*[*times][:1], *[kernel for kernel in times if keeps_csr(kernel)][:1]]))
    kernel, later = best(costs, n) or csr, _later(costs, n)
    more = [later[1]] if later and keeps_csr(kernel.kernel) else []
    return tuple(dict.fromkeys((kernel.kernel, csr.kernel, *more)))


def _later(costs: Sequence[KernelCost], n: int) -> tuple[int, str] | None:
    """Return from how many SpMVs on another layout than CSR has the least time, and its kernel; None: never."""
    return next(((step, name) for step, name in crossovers(costs) if step > n and not keeps_csr(name)), None)


def _with_conversions(
    costs: Sequence[KernelCost], csr: KernelCost, device: DeviceOption, n: int, forecasts: Forecasts
) -> tuple[str, ...]:
    """Return the kernel and the sentences with forecasts of the conversions; csr: the best kernel that keeps CSR."""
    where, kernel = f"On {device.phrase}, for {spmvs(n)}", best(costs, n) or csr
    if keeps_csr(kernel.kernel):
        sentence = f"{where}, keep CSR: {csr.kernel} takes about {units.seconds(csr.spmv_s)} per SpMV."
        later = _later(costs, n)
        if later is None:
            return csr.kernel, sentence
        gain = units.ratio(csr.spmv_s / next(cost.spmv_s for cost in costs if cost.kernel == later[1]))
        return (
            csr.kernel,
            sentence,
            f"{later[1]} may pay from about {_rough(later[0])} SpMVs on: speedup {gain} per SpMV.",
        )
    speedup = units.ratio(total_s(csr, n) / total_s(kernel, n))
    sentence = f"{where}, take {kernel.kernel}: predicted speedup {speedup} over {csr.kernel}."
    forecast, saved = forecasts[kernel.kernel], csr.spmv_s - kernel.spmv_s
    time = f"One SpMV takes about {units.seconds(kernel.spmv_s)}."
    if saved <= 0:
        return kernel.kernel, sentence, time
    ends = [_rough(max(1.0, (end - (csr.convert_s or 0.0)) / saved)) for end in (forecast.low_s, forecast.high_s)]
    pays = f"{ends[0]}–{ends[1]}" if ends[0] != ends[1] else ends[0]
    conversion = units.interval(forecast.low_s, forecast.high_s)
    return kernel.kernel, sentence, f"{time} Its conversion takes about {conversion}, which pays after {pays} SpMVs."


def _without_conversions(times: Mapping[str, float], device: DeviceOption, n: int) -> tuple[str, ...]:
    """Return the kernel and the sentences without any forecast of the conversions."""
    where, (kernel, seconds) = f"On {device.phrase}", next(iter(times.items()))
    csr, csr_s = next(((name, time) for name, time in times.items() if keeps_csr(name)), ("", 0.0))
    if not csr:
        return kernel, f"{where}, take {kernel}: about {units.seconds(seconds)} per SpMV."
    saved = units.seconds(n * (csr_s - seconds))
    if csr_s > EQUAL * seconds:
        gain = units.ratio(csr_s / seconds)
        sentence = f"{where}, take {kernel}: about {units.seconds(seconds)} per SpMV, speedup {gain} over {csr}."
        return kernel, sentence, f"For {spmvs(n)} it saves {saved}: convert only if the conversion takes less."
    sentence = f"{where}, keep CSR: {csr} takes about {units.seconds(csr_s)} per SpMV."
    other = f"{kernel} may save {saved} for {spmvs(n)}, which rarely pays for a conversion."
    return (csr, sentence) if csr == kernel else (csr, sentence, other)


def _rough(n: float) -> str:
    """Return a number of SpMVs with two significant digits."""
    return units.count(float(f"{n:.2g}"))


def basis_text(predictor: Predictor) -> str:
    """Return what a prediction is based on."""
    number = predictor.matrices
    matrices = amount(number, "measured matrix", "measured matrices")
    return f"from its structure{f', calibrated with {matrices}' if number else ''}"


def confidence_text(predictor: Predictor, features: Features) -> str:
    """Return the confidence of the prediction, and if it is low, the reason."""
    if name := unfamiliar(features):
        return f"Low confidence: {_limit_text(name, features)}. Measure to be sure."
    if not is_sure(features):
        return "Low confidence: no feature describes the effect of sorting all rows. Measure to be sure."
    if not predictor.gpu.is_judged:
        return f"Low confidence: the model was never validated on the {predictor.gpu.short_name}. Measure to be sure."
    return "High confidence: you can use it without measuring."


def _limit_text(name: str, features: Features) -> str:
    """Return a quantity of a matrix with the bound that it exceeds: `nonzeros 4,096, calibrated from 400,000 on`."""
    limits = LIMITS[name]
    value = float(limits.quantity(features))
    is_low = value < limits.least
    bound = f"from {_number(float(limits.least))} on" if is_low else f"up to {_number(limits.greatest)}"
    return f"{name} {_number(value)}, calibrated {bound}"


def _number(value: float) -> str:
    """Return a number with three digits, or a whole number with all."""
    return units.count(value) if value.is_integer() else units.number(value)
