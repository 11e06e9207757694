"""Study `spmm`: its cases, its parameters, and what it refuses."""

from typing import Any

import pytest

from gpu_engine import spmm
from gpu_engine.errors import ParameterError
from gpu_engine.host.device import find_device
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies.spmm import K_MAX, SpmmParams, SpmmStudy, known_kernels

CPU, GPU = find_device("cpu"), DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
PLANE = MatrixInfo("p", "p", 409_600, 409_600, 2_045_440)
SPMVS = {"cpu": {"scalar", "vector", "smart"}, "cuda": {"scalar", "vector", "vector16", "smart"}}


def keys(device: DeviceInfo = CPU, **params: Any) -> list[str]:
    return [case.key for case in SpmmStudy().cases(parse_params(SpmmParams, params), [PLANE], device)]


@pytest.mark.parametrize("device", [CPU, GPU], ids=lambda device: device.backend)
def test_the_defaults_are_all_kernels_row_major_with_three_numbers_of_columns(device: DeviceInfo) -> None:
    cases, known = keys(device), known_kernels(device.backend)
    assert len(cases) == len(set(cases)) == 3 * len(known)
    assert cases[: len(known)] == [f"p|{kernel}|warm|k=2,order=row" for kernel in known]
    names = SpmmStudy().names(device.backend)["kernels"]
    assert names == tuple(known)
    assert {kernel.name for kernel in spmm.kernels_on(device.backend)} < set(names)
    assert {name.partition("-")[2] for name in names if name.startswith("spmv/")} == SPMVS[device.backend]
    libraries = {name.partition("/")[0] for name in names} & {"scipy", "cusparse"}
    assert libraries == {"scipy" if device is CPU else "cusparse"}


def test_cases_are_orders_times_columns_times_kernels_times_cache_states() -> None:
    chosen: dict[str, Any] = {
        "kernels": ["spmv/csr-vector", "csr/rows"],
        "orders": ["column", "row"],
        "caches": ["cold", "warm"],
    }
    cases = keys(k=[4, 1], **chosen)
    assert len(cases) == 16
    assert cases[:3] == [
        "p|csr/rows|cold|k=4,order=column",
        "p|csr/rows|warm|k=4,order=column",
        "p|spmv/csr-vector|cold|k=4,order=column",
    ]
    assert cases[-1] == "p|spmv/csr-vector|warm|k=1,order=row"


@pytest.mark.parametrize(
    "params", [{"k": [0]}, {"k": [K_MAX + 1]}, {"k": []}, {"orders": ["diagonal"]}, {"orders": []}, {"caches": []}]
)
def test_it_refuses_what_is_out_of_range(params: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        keys(**params)
    assert K_MAX == 1024


def test_an_unknown_kernel_is_named_with_those_of_the_device() -> None:
    with pytest.raises(ParameterError, match=r"csr/segments.*csr/rows"):
        keys(CPU, kernels=["csr/segments"])
    assert keys(GPU, kernels=["csr/segments"], k=[8]) == ["p|csr/segments|warm|k=8,order=row"]


def test_a_matrix_without_nonzeros_is_refused_and_the_estimate_grows_with_the_columns() -> None:
    study = SpmmStudy()
    assert study.refusal(MatrixInfo("e", "e", 3, 3, 0))
    assert not study.refusal(MatrixInfo("w", "w", 3, 7, 1))
    short, long = (study.estimate_s(SpmmParams(k=k, sampling="fixed"), [PLANE], CPU) for k in ((8,), (8, 64)))
    assert 0 < short < long
