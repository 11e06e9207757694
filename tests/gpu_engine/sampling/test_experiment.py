"""What an experiment derives from the records of others."""

from gpu_engine.records import Cache, Case, Details, Measurement
from gpu_engine.sampling.experiment import best_of


def test_the_best_of_some_kernels_is_a_case_of_its_own() -> None:
    case = Case("m", "cusparse/best", "warm")

    def of(kernel: str, cache: Cache, seconds: float | None) -> Measurement:
        return Measurement.of(Case("m", kernel, cache), "cpu", Details, median_s=seconds, note="why")

    slow, quick = of("cusparse/one", "warm", 2.0), of("cusparse/two", "warm", 1.0)
    failed, other = of("cusparse/three", "warm", None), of("cusparse/one", "cold", 0.1)
    best = best_of([slow, quick, failed, other], case)
    assert (best.case, best.kernel, best.note, best.median_s) == (case.key, case.kernel, "two", 1.0)
    none = best_of([failed], case)
    assert (none.kernel, none.median_s, none.note) == (case.kernel, None, "no algorithm of the library ran: why")
