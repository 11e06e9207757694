"""What errors of a GPU mean: the case has no room, the process is of no more use, or the study cannot go on."""

from types import SimpleNamespace

import pynvml
import pytest

from gpu_engine.errors import DeviceError, DeviceLostError, DeviceMemoryError

cupy = pytest.importorskip("cupy")


class DriverError(cupy.cuda.driver.CUDADriverError):  # type: ignore[misc, name-defined]
    """An error of the driver, whose name and words only a driver knows."""

    def __init__(self, status: int) -> None:
        RuntimeError.__init__(self, "CUDA_ERROR_…")
        self.status = status


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (
            cupy.cuda.memory.OutOfMemoryError(8, 4),
            DeviceMemoryError,
            "too little free memory: Out of memory allocating 8",
        ),
        (cupy.cuda.runtime.CUDARuntimeError(700), DeviceLostError, "reported cudaErrorIllegalAddress: an illegal"),
        (cupy.cuda.runtime.CUDARuntimeError(716), DeviceLostError, "reported cudaErrorMisalignedAddress"),
        (cupy.cuda.runtime.CUDARuntimeError(999), DeviceLostError, "reported cudaErrorUnknown"),
        (cupy.cuda.runtime.CUDARuntimeError(100), DeviceLostError, "reported cudaErrorNoDevice"),
        (DriverError(700), DeviceLostError, "reported CUDA_ERROR"),
        (pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST), DeviceLostError, "reported GPU is lost"),
        (cupy.cuda.runtime.CUDARuntimeError(1), DeviceError, "reported cudaErrorInvalidValue"),
        (DriverError(1), DeviceError, "reported CUDA_ERROR"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:24],
)
def test_an_error_of_the_gpu_says_what_can_go_on(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[DeviceError], sentence: str
) -> None:
    from gpu_engine.measure.cuda_errors import translated

    # The pool asks a GPU, and none need be here.
    monkeypatch.setattr(cupy, "get_default_memory_pool", lambda: SimpleNamespace(free_all_blocks=lambda: None))
    with pytest.raises(DeviceError, match=sentence) as caught, translated():
        raise error
    assert type(caught.value) is kind
