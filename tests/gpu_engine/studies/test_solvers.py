"""Study `solvers`: its cases, its parameters, and what it refuses."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.formats import kernel_names
from gpu_engine.generators import generate
from gpu_engine.host.device import find_device
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies.solvers import KERNELS, SolversParams, SolversStudy
from gpu_engine.studies.solvers.systems import make_system, right_hand_side

CPU, GPU = find_device("cpu"), DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
PLANE = MatrixInfo("p", "p", 409_600, 409_600, 2_045_440)
LIBRARIES = {"cpu": ("scipy/solver",), "cuda": ("cupy/solver", "warp/check-10", "warp/check-0", "warp/captured")}


def keys(device: DeviceInfo = CPU, **params: Any) -> list[str]:
    return [case.key for case in SolversStudy().cases(parse_params(SolversParams, params), [PLANE], device)]


@pytest.mark.parametrize("device", [CPU, GPU], ids=lambda device: device.backend)
def test_the_defaults_are_all_methods_with_a_few_kernels_and_all_libraries(device: DeviceInfo) -> None:
    cases, kernels = keys(device), (*KERNELS[device.backend], *LIBRARIES[device.backend])
    assert len(cases) == len(set(cases)) == 4 * len(kernels)
    cg = [key for key in cases if "method=cg," in key]
    assert sorted(cg) == sorted(f"p|{kernel}|warm|method=cg,preconditioner=none,rtol=1e-08" for kernel in kernels)
    assert set(KERNELS[device.backend]) <= set(SolversStudy().names(device.backend)["kernels"])


def test_the_defaults_on_a_gpu_have_all_kernels_of_csr() -> None:
    own = [kernel for kernel in kernel_names("cuda") if kernel.startswith("csr/")]
    assert own
    assert set(own) <= set(KERNELS["cuda"])


def test_cases_are_methods_times_preconditioners_times_tolerances_times_kernels() -> None:
    cases = keys(
        methods=["cg", "gmres"],
        preconditioners=["none", "ic:3"],
        rtol=[1e-6, 1e-10],
        kernels=["csr/scalar"],
        restart=50,
    )
    assert len(cases) == 8
    assert cases[0] == "p|csr/scalar|warm|method=cg,preconditioner=none,rtol=1e-06"
    assert cases[-1] == "p|csr/scalar|warm|method=gmres,preconditioner=ic:3,rtol=1e-10,restart=50"


def test_libraries_have_no_preconditioner_but_jacobi() -> None:
    cases = keys(methods=["cg"], preconditioners=["none", "jacobi", "chebyshev:3"], kernels=["scipy/solver"])
    assert [key.split("preconditioner=")[1].split(",")[0] for key in cases] == ["none", "jacobi"]


def test_what_is_solved_is_an_axis_if_it_is_not_the_default() -> None:
    (case,) = keys(methods=["cg"], kernels=["csr/scalar"], system="definite", excess=0.01, seed=3, check_every=5)
    assert case.endswith("rtol=1e-08,system=definite,excess=0.01,seed=3,check_every=5")
    # Neither the excess of a matrix that stays as it is nor the seed of ones changes anything.
    (case,) = keys(methods=["cg"], kernels=["csr/scalar"], excess=0.01, b="ones", seed=3)
    assert case.endswith("rtol=1e-08,b=ones")


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"kernels": ["csr/none"]}, "csr/none"),
        ({"kernels": ["cupy/solver"]}, "cupy/solver"),
        ({"methods": ["lsqr"]}, "lsqr"),
        ({"preconditioners": ["amg"]}, "amg"),
        ({"preconditioners": ["jacobi:2"]}, "jacobi:2"),
        ({"preconditioners": ["none:2"]}, "none:2"),
        ({"preconditioners": ["chebyshev:x"]}, "chebyshev:x"),
        ({"preconditioners": ["ic:"]}, "ic:"),
        ({"rtol": [0.0]}, "rtol"),
        ({"rtol": []}, "rtol"),
        ({"b": "two"}, "two"),
    ],
)
def test_unknown_names_are_refused_by_name(params: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        keys(**params)


def test_only_square_matrices_with_nonzeros_are_solved() -> None:
    refusal = SolversStudy().refusal
    assert refusal(PLANE) == ""
    assert "3 × 4" in refusal(MatrixInfo("r", "r", 3, 4, 5))
    assert refusal(MatrixInfo("e", "e", 3, 3, 0))


def test_more_cases_and_larger_matrices_take_longer() -> None:
    study = SolversStudy()
    few, many = SolversParams(methods=("cg",)), SolversParams(preconditioners=("none", "jacobi"), rtol=(1e-6, 1e-8))
    for device in (CPU, GPU):
        assert study.estimate_s(few, [PLANE], device) < study.estimate_s(many, [PLANE], device)
        assert study.estimate_s(few, [PLANE], device) < study.estimate_s(few, [PLANE, PLANE], device)


def test_a_dominant_matrix_is_solvable_and_a_definite_one_symmetric() -> None:
    matrix = generate("powerlaw", {"n": 500, "mean": 6.0, "max_length": 100})
    definite, dominant = (make_system(matrix, name, 1e-3).to_scipy().toarray() for name in ("definite", "dominant"))
    np.testing.assert_array_equal(definite, definite.T)
    assert np.linalg.eigvalsh(definite)[0] > 0
    for dense in (definite, dominant):
        off = dense - np.diag(np.diag(dense))
        assert off.max() <= 0
        lonely = off.sum(axis=1) == 0
        np.testing.assert_allclose(np.diag(dense)[~lonely], -1.001 * off.sum(axis=1)[~lonely], rtol=1e-12)
    np.testing.assert_allclose(np.diag(dominant), 1.0)
    assert make_system(matrix, "as-is", 1e-3) is matrix


def test_right_hand_sides() -> None:
    assert right_hand_side("ones", 4, 0).tolist() == [1, 1, 1, 1]
    assert right_hand_side("point", 5, 0).tolist() == [0, 0, 1, 0, 0]
    np.testing.assert_array_equal(right_hand_side("random", 9, 3), right_hand_side("random", 9, 3))
    assert abs(right_hand_side("random", 9, 3) - right_hand_side("random", 9, 4)).max() > 0
