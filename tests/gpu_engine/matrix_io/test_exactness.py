"""Large and long numbers in every reader: exact, rounded to the nearest with ties to even, or refused."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gpu_engine.errors import MatrixFileError
from gpu_engine.matrix_io import ReadOptions, read_matrix
from tests.gpu_engine.matrix_files import element, harwell_boeing, mat, npz, sparse_element

POWERS = (2**53, 2**54, 2**63, 2**64, 2**65, 2**66, 3 * 2**64, 5 * 2**64, 2**70)
WHOLE = sorted({power + more for power in POWERS for more in (-1025, -1, 0, 1, 2, 1024, 2048)})


def spellings(number: int) -> list[str]:
    """The same whole number in the ways in which programs write one."""
    text = str(number)
    return [text, f"000{text}", f"{text}.", f"{text}.000", f"{text[0]}.{text[1:]}e{len(text) - 1}", f"{text}0e-1"]


def market(tokens: list[str], field: str = "real") -> bytes:
    entries = "".join(f"1 {col} {token}\n" for col, token in enumerate(tokens, 1))
    return f"%%MatrixMarket matrix coordinate {field} general\n1 {len(tokens)} {len(tokens)}\n{entries}".encode()


def array(tokens: list[str]) -> bytes:
    return "\n".join(["%%MatrixMarket matrix array real general", f"1 {len(tokens)}", *tokens, ""]).encode()


def edges(tokens: list[str]) -> bytes:
    return "".join(f"0 {col} {token}\n" for col, token in enumerate(tokens)).encode()


def boeing(tokens: list[str], form: str = "(1F40.0)", kind: str = "RUA") -> bytes:
    width = 40
    sizes = "".join(f"{size:14}" for size in (1, len(tokens), len(tokens), 0))
    head = f"{'t':72}k       \n{'1'.rjust(14) * 4}{0:14}\n{kind:14}{sizes}\n{'(1I9)':16}{'(1I9)':16}{form:20}\n"
    pointers = "".join(f"{k:9}\n" for k in range(1, len(tokens) + 2))
    return (head + pointers + f"{1:9}\n" * len(tokens) + "".join(f"{token:>{width}}\n" for token in tokens)).encode()


#: name → a matrix of one row with these values, as text that is rounded
ROUNDED: dict[str, Callable[[list[str]], bytes]] = {
    "Matrix Market": market,
    "array": array,
    "edge list": edges,
    "Harwell-Boeing": boeing,
}


@pytest.mark.parametrize("name", ROUNDED)
def test_decimal_numbers_are_rounded_to_the_nearest(name: str, tmp_path: Path) -> None:
    tokens = [token for number in WHOLE for token in spellings(number)]
    (tmp_path / "file").write_bytes(ROUNDED[name](tokens))
    options = ReadOptions(directed=True, ids="shared") if name == "edge list" else ReadOptions()
    values = read_matrix(tmp_path / "file", options=options).matrix.values.tolist()
    expected = [float(Fraction(number)) for number in WHOLE for _ in spellings(number)]
    assert [pair for pair in zip(tokens, values, expected, strict=True) if pair[1] != pair[2]] == []


def whole_npz(number: int, dtype: str) -> bytes:
    return npz(indices=[0], indptr=[0, 1], shape=(1, 1), data=np.array([number], dtype))


def whole_mat(number: int, dtype: str) -> bytes:
    one = {
        "rows": element(5, bytes(4)),
        "pointers": element(5, b"\0\0\0\0\1\0\0\0"),
        "shape": element(5, b"\1\0\0\0" * 2),
    }
    return mat(sparse_element(**one, values=element(13 if dtype == "u8" else 12, np.array([number], dtype).tobytes())))


#: name → a matrix of one whole number, or None where the format has no room for it
EXACT: dict[str, Callable[[int], bytes | None]] = {
    "Matrix Market": lambda number: market([str(number)], "integer"),
    "unsigned": lambda number: market([str(number)], "unsigned-integer") if number > 0 else None,
    "Harwell-Boeing": lambda number: boeing([str(number)], "(1I40)", "IUA"),
    "npz i8": lambda number: whole_npz(number, "<i8") if -(2**63) <= number < 2**63 else None,
    "npz u8": lambda number: whole_npz(number, ">u8") if 0 <= number < 2**64 else None,
    "mat i8": lambda number: whole_mat(number, "i8") if -(2**63) <= number < 2**63 else None,
    "mat u8": lambda number: whole_mat(number, "u8") if 0 <= number < 2**64 else None,
}


@pytest.mark.parametrize("name", EXACT)
def test_whole_numbers_are_exact_or_refused(name: str, tmp_path: Path) -> None:
    for number in (sign * whole for whole in WHOLE for sign in (1, -1)):
        content = EXACT[name](number)
        if content is None:
            continue
        (tmp_path / "file").write_bytes(content)
        if int(float(number)) == number:
            assert read_matrix(tmp_path / "file").matrix.values.tolist() == [number]
        else:
            with pytest.raises(MatrixFileError, match=r"beyond 2\^53 and not exact in fp64"):
                read_matrix(tmp_path / "file")


#: (format, field, number): what Fortran 2018 reads in it, 13.7.2.3 and 13.8.5
FORTRAN = [
    ("(1P,1F40.6)", "12.5", 1.25),
    ("(1P1E40.6)", "12.5", 1.25),
    ("(2P,1F40.6)", "12.5", 0.125),
    ("(-1P,1F40.6)", "12.5", 125.0),
    ("(+1P,1D40.6)", "12.5", 1.25),
    ("(1P,1F40.6)", "12.5E0", 12.5),
    ("(1P,1F40.6)", "12.5+0", 12.5),
    ("(1P,1F40.2)", "125", 0.125),
    ("(1F40.2)", "125", 1.25),
    ("(1F40.2)", "125E1", 12.5),
    ("(1E40.0)", "125", 125.0),
    ("(1F40.2)", "1.5+3", 1500.0),
    ("(1F40.2)", "1.5-103", 1.5e-103),
    ("(1F40.2)", "-1.5D 02", -150.0),
    ("(1ES40.2)", "1.5E+02", 150.0),
    ("(1EN40.2E3)", "150.0E+003", 150_000.0),
    ("(1G40.2)", "+.5", 0.5),
    ("(1F40.2)", "1.5                    ", 1.5),
]


@pytest.mark.parametrize(("form", "field", "number"), FORTRAN)
def test_harwell_boeing_fields_are_what_fortran_reads(form: str, field: str, number: float, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(boeing([field], form))
    assert read_matrix(tmp_path / "file").matrix.values.tolist() == [number]


def test_a_number_of_800_digits_is_rounded_right_in_harwell_boeing(tmp_path: Path) -> None:
    digits = "1234567890" * 80
    content = harwell_boeing().replace(b"(3E25.16) ", b"(1F820.80)")
    values = "".join(f"{sign}{digits[:5]}.{digits}".rjust(820) + "\n" for sign in ("", "-") * 4)
    head = content[: content.index(b" 1.5000")].decode()
    (tmp_path / "file").write_bytes((head + values).encode())
    exact = float(Fraction(int(digits[:5] + digits), 10**800))
    assert np.abs(read_matrix(tmp_path / "file").matrix.values).tolist() == [exact] * 7
