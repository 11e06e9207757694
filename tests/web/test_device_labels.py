"""Short names of devices."""

import pytest

from web.device_labels import short


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA H100 80GB HBM3 (recorded)", "H100"),
        ("NVIDIA H100 80GB HBM3 (cuda:0)", "H100 (cuda:0)"),
        ("NVIDIA H200 (recorded)", "H200"),
        ("2 × NVIDIA H200 (recorded)", "2 × H200"),
        ("NVIDIA A100-SXM4-40GB (recorded), lower triangles", "A100-SXM4-40GB, lower triangles"),
        ("NVIDIA H100 80GB HBM3 (recorded), cold", "H100, cold"),
        ("cpu", "cpu"),
    ],
)
def test_a_short_name_has_the_model_and_what_tells_devices_apart(name: str, expected: str) -> None:
    assert short(name) == expected
