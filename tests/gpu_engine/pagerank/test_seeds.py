"""Seed sets as text, and the teleport vectors that they stand for."""

import numpy as np
import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.pagerank.seeds import SETS_MAX, Seeds, parse_seeds, parse_sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("12", (((12, 1.0),),)),
        ("12; 5, 9:0.5", (((12, 1.0),), ((5, 1.0), (9, 0.5)))),
        ("", ((),)),
        (" ; 3 : 2e1 ;", ((), ((3, 20.0),), ())),
        ("4,4:2,4", (((4, 1.0), (4, 2.0), (4, 1.0)),)),
    ],
)
def test_sets_of_a_text(text: str, sets: object) -> None:
    assert parse_sets(text) == sets


def test_vectors_have_sum_one() -> None:
    seeds = parse_seeds("2; 0, 3:0.5, 0:2.5; ; 3:1e308, 3:1e308, 1:1e308", 5)
    third = 1.0 / 3.0
    expected = [
        [0, 0.875, 0.2, 0],
        [0, 0, 0.2, third],
        [1, 0, 0.2, 0],
        [0, 0.125, 0.2, 2 * third],
        [0, 0, 0.2, 0],
    ]
    np.testing.assert_allclose(seeds.vectors(), expected, rtol=1e-15)
    assert (seeds.k, seeds.n) == (4, 5)
    assert seeds.pages.tolist() == [0, 1, 2, 3]
    assert seeds.firsts.tolist() == [0, 1, 2, 3, 5]
    assert seeds.sets.tolist() == [1, 3, 0, 1, 3]


def test_mass_on_pages() -> None:
    seeds = parse_seeds("2; 0, 3:3; ", 5)
    np.testing.assert_allclose(seeds.mass_on(np.array([1, 2, 3])), [1.0, 0.75, 0.6])
    np.testing.assert_array_equal(seeds.mass_on(np.array([], int)), [0.0, 0.0, 0.0])


@pytest.mark.parametrize("number", range(3))
def test_one_of_the_sets(number: int) -> None:
    seeds = parse_seeds("2; 0, 3:3; ", 5)
    np.testing.assert_array_equal(seeds.only(number).vectors(), seeds.vectors()[:, [number]])


@pytest.mark.parametrize(
    ("text", "n", "parts"),
    [
        ("1; 7", 7, ("set 2", "page 7", "0 to 6")),
        ("-1", 7, ("set 1", "page -1")),
        ("0", 0, ("set 1", "page 0", "no pages")),
        ("1; 2, 3:0", 7, ("set 2", "page 3", "0.0")),
        ("1; 2:-2", 7, ("set 2", "page 2", "-2.0")),
        ("1:nan", 7, ("set 1", "page 1", "nan")),
        ("1:inf", 7, ("set 1", "page 1", "inf")),
        ("1:1e999", 7, ("set 1", "page 1", "inf")),
        ("1; 3:x", 7, ("set 2", "page 3", "'x'")),
        ("1; x", 7, ("set 2", "'x'")),
        ("1,,2", 7, ("set 1", "''")),
        ("1.5", 7, ("set 1", "'1.5'")),
        ("9" * 5000, 7, ("set 1", "999")),
        ("٣", 7, ("set 1",)),
        (";" * SETS_MAX, 7, (str(SETS_MAX + 1), str(SETS_MAX))),
    ],
)
def test_errors_name_set_and_page(text: str, n: int, parts: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError) as error:
        parse_seeds(text, n)
    assert all(part in error.value.message for part in parts)
    assert len(error.value.message) < 200


def test_no_set() -> None:
    with pytest.raises(ParameterError):
        Seeds.of([], 3)
    assert Seeds.of([()] * SETS_MAX, 0).vectors().shape == (0, SETS_MAX)
