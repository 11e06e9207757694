"""A CUDA device for every test here; without one they are skipped. They run from the checkout, without its settings."""

import pytest

from gpu_engine.host.device import list_devices
from gpu_engine.records import DeviceInfo


@pytest.fixture(scope="session")
def gpu() -> DeviceInfo:
    device = next((d for d in list_devices() if d.backend == "cuda"), None)
    if device is None:
        pytest.skip("no CUDA device")
    return device


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a CUDA device")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.gpu)
