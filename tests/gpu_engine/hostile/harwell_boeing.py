"""Harwell-Boeing files that are refused: name → (file, words of the message)."""

from collections.abc import Callable

from tests.gpu_engine import matrix_files as files
from tests.gpu_engine.matrix_files import harwell_boeing

MIB = 2**20


def _header_line(number: int, old: str, new: str) -> bytes:
    """A Harwell-Boeing file with a part of that header line replaced."""
    lines = files.HB_HEADER.splitlines(keepends=True)
    assert old in lines[number - 1]
    lines[number - 1] = lines[number - 1].replace(old, new)
    return harwell_boeing("".join(lines))


def _formats(text: str) -> bytes:
    return _header_line(4, "(4I3)           (7I3)           (3E25.16)", text)


def _sizes(rows: object, cols: object, entries: object) -> bytes:
    return harwell_boeing(files.HB_HEADER.replace(f"{4:14}{3:14}{7:14}", f"{rows:>14}{cols:>14}{entries:>14}"))


def _first_value(value: str) -> bytes:
    return harwell_boeing(values=value.rjust(25) + files.HB_VALUES[25:])


BAD = {
    "complex": (_header_line(3, "RUA", "CUA"), "Only real matrices"),
    "hermitian 4 × 3": (_header_line(3, "RUA", "RHA"), "must be square"),
    "complex hermitian": (_header_line(3, "RUA", "CHA"), "is complex. Only real"),
    "right-hand sides alone": (
        f"rhsrd KEY      r {4:13} {1:13} {4:13}\n{'(3E25.16)':20}\n 1.0 2.0 3.0\n 4.0\n".encode(),
        "auxiliary data .'rhs'.",
    ),
    "an ordering alone": (
        f"ordr  KEY      i {4:13} {1:13} {4:13}\n{'(4I5)':20}\n    1    2    3    4\n".encode(),
        "auxiliary data .'ord'.",
    ),
    "unassembled": (_header_line(3, "RUA", "RUE"), "unassembled"),
    "auxiliary values": (_header_line(3, "RUA", "QUA"), "only real"),
    "skew pattern": (_header_line(3, "RUA", "PZA"), "only real"),
    "symmetric 4 × 3": (_header_line(3, "RUA", "RSA"), "must be square"),
    "symmetric with both triangles": (
        harwell_boeing(
            files.HB_HEADER.replace("RUA", "RSA").replace(f"{4:14}{3:14}", f"{4:14}{4:14}"), "  1  4  5  7\n  8\n"
        ),
        "both triangles",
    ),
    "skew with diagonal": (
        harwell_boeing(
            files.HB_HEADER.replace("RUA", "RZA").replace(f"{4:14}{3:14}{7:14}", f"{4:14}{4:14}{1:14}"),
            "  1  2  2  2\n  2\n",
            "  1\n",
            " 5.0\n",
        ),
        "diagonal",
    ),
    "a count that is no number": (_header_line(2, "             5", "          five"), "not a count"),
    "rows that are no number": (_sizes("four", 3, 7), "not a count"),
    "negative rows": (_sizes(-4, 3, 7), "not a count"),
    "fractional columns": (_sizes(4, "3.0", 7), "not a count"),
    "Arabic digits": (_sizes(4, "٣", 7), "not a count"),
    "more entries": (_sizes(4, 3, 9), "More than|more than|not a|run from|before the last"),
    "fewer entries": (_sizes(4, 3, 5), "More than|more than|not a|run from"),
    "more columns": (_sizes(4, 9, 7), "more than 4"),
    "fewer columns": (_sizes(4, 1, 7), "more than|run from"),
    "fewer rows": (_sizes(3, 3, 7), "row index 3"),
    "no format": (_formats("(hello)         (7I3)           (3E25.16)"), "not a format"),
    "an empty format": (_formats("()              (7I3)           (3E25.16)"), "not a format"),
    "a format without width": (_formats("(4I)            (7I3)           (3E25.16)"), "not a format"),
    "a repeat of 999 and a width of 99": (_formats("(999I99)        (7I3)           (3E25.16)"), "1 to 4096"),
    "a repeat of 10^12": (_formats("(1000000000000I3)(7I3)          (3E25.16)"), "not a format"),
    "a width of 10^9": (_formats("(4I1000000000)  (7I3)           (3E25.16)"), "not a format"),
    "a repeat of 0": (_formats("(0I3)           (7I3)           (3E25.16)"), "1 to 4096"),
    "a width of 0": (_formats("(4I0)           (7I3)           (3E25.16)"), "1 to 4096"),
    "nested repeats": (_formats("(9(9(9(9I3))))  (7I3)           (3E25.16)"), "1 to 4096"),
    "brackets without end": (_formats("(" * 3000), "not a format"),
    "3000 brackets": (_formats("(" * 1500 + "I3" + ")" * 1500 + " (7I3) (3E25.16)"), "not a format"),
    "an open bracket": (_formats("((4I3)          (7I3)           (3E25.16)"), "not a format"),
    "a group of 9999 skips": (_formats("(9999(9999X),I3)(7I3)           (3E25.16)"), "1 to 4096"),
    "a group of 0": (_formats("(0(4I3))        (7I3)           (3E25.16)"), "1 to 4096"),
    "a column of 9999": (_formats("(T9999,4I3)     (7I3)           (3E25.16)"), "1 to 4096"),
    "a format that reads nothing": (_formats("(4X)            (7I3)           (3E25.16)"), "without a number"),
    "a group that reads nothing again and again": (
        _formats("(4I3,(1X))      (7I3)           (3E25.16)"),
        "without a number",
    ),
    "a slash": (_formats("(4I3/)          (7I3)           (3E25.16)"), "not a format"),
    "a text": (_formats("('x',4I3)       (7I3)           (3E25.16)"), "not a format"),
    "no comma": (_formats("(2I3 2I3)       (7I3)           (3E25.16)"), "not a format"),
    "two commas": (_formats("(2I3,,2I3)      (7I3)           (3E25.16)"), "not a format"),
    "free format": (_formats("(*)             (7I3)           (3E25.16)"), "not a format"),
    "logical values": (_formats("(4I3)           (7I3)           (3L25)    "), "not a format"),
    "text in columns that are skipped": (
        harwell_boeing(files.HB_HEADER.replace("(4I3) ", "(1X,4I3) "), "x  1  4  5  8\n"),
        "columns that the format skips",
    ),
    "decimal indices": (_formats("(4I3)           (7E25.16)       (3E25.16)"), "not a format"),
    "text as values": (_formats("(4I3)           (7I3)           (3A25)   "), "not a format"),
    "no format of values": (_formats("(4I3)           (7I3)                    "), "not a format"),
    "pointers that are no numbers": (harwell_boeing(pointers="  1  x  5  8\n"), "'x' among the column pointers"),
    "pointers decrease": (harwell_boeing(pointers="  1  5  4  8\n"), "decrease"),
    "pointers start at 0": (harwell_boeing(pointers="  0  4  5  8\n"), "run from -1"),
    "pointers end at 99": (harwell_boeing(pointers="  1  4  5 99\n"), "to 98"),
    "pointers negative": (harwell_boeing(pointers="  1 -4  5  8\n"), "decrease"),
    "pointers with a blank one": (harwell_boeing(pointers="  1     5  8\n"), "whole number"),
    "pointers of 30 digits": (harwell_boeing(pointers="  1  4  5 " + "9" * 30 + "\n"), "more than 18 digits"),
    "blanks that Fortran would leave out": (harwell_boeing(pointers="1 4  5  8\n"), "not a whole number"),
    "blanks that are zeros": (_formats("(BZ,4I3)        (BZ,T2,7I3)     (3E25.16)"), "row index|run from"),
    "a scale factor and columns that do not fit": (
        harwell_boeing(files.HB_HEADER.replace("(3E25.16)   ", "(1P3E25.16) "), values=" 1.5 2.5 3.5\n"),
        "not a decimal",
    ),
    "row 0": (harwell_boeing(rows="  0  3  4  4  1  2  4\n"), "row index -1"),
    "row 5 of 4": (harwell_boeing(rows="  1  3  5  4  1  2  4\n"), "row index 4"),
    "negative row": (harwell_boeing(rows="  1 -3  4  4  1  2  4\n"), "row index -4"),
    "a decimal row": (harwell_boeing(rows="  1 3.  4  4  1  2  4\n"), "whole number"),
    "a row with an underscore": (harwell_boeing(rows="  1 3_  4  4  1  2  4\n"), "whole number"),
    "eight rows in a line": (harwell_boeing(rows="  1  3  4  4  1  2  4  4\n"), "more than 7"),
    "NaN": (_first_value("NaN"), "not a decimal"),
    "infinity": (_first_value("Infinity"), "not a decimal"),
    "1e400": (_first_value("1.0E+400"), "overflows"),
    "1e-400": (_first_value("1.0E-400"), "underflows"),
    "hexadecimal": (_first_value("0x1.8p3"), "not a decimal"),
    "decimal comma": (_first_value("1,5"), "not a decimal"),
    "underscores in a value": (_first_value("1_0.5"), "not a decimal"),
    "two signs": (_first_value("--1.5"), "not a decimal"),
    "a sign within": (_first_value("1-.5"), "not a decimal"),
    "a sign behind": (_first_value("1.5-"), "not a decimal"),
    "a number behind a number": (_first_value("1.5-2.5"), "not a decimal"),
    "a blank within": (_first_value("1 .5"), "not a decimal"),
    "a non-breaking space": (_first_value("1.5\xa0"), "not a decimal|more than 3"),
    "CR at the end": (harwell_boeing()[:-1] + b"\r", "CR alone"),
    "two points": (_first_value("1.5.5"), "not a decimal"),
    "a point alone": (_first_value("."), "not a decimal"),
    "a sign alone": (_first_value("-"), "not a decimal"),
    "a blank value at the end of a line": (
        harwell_boeing(values=files.HB_VALUES[:-26] + " " * 25 + "\n"),
        "not a decimal",
    ),
    "three counts in the header": (_header_line(3, f"{4:14}{3:14}{7:14}{0:14}", " 4 3"), "2 counts"),
    "six counts in the header": (_header_line(3, f"{4:14}{3:14}{7:14}{0:14}", " 4 3 7 0 0 0"), "6 counts"),
    "an exponent that overflows": (_first_value("1.5+999"), "overflows"),
    "an exponent of 10^9": (_first_value("1.E1000000000"), "overflows"),
    "NUL": (_first_value("1.5\0"), "NUL"),
    "the values are missing": (harwell_boeing(values=""), "ends before the last of the values"),
    "the rows are missing": (harwell_boeing(rows="", values=""), "ends before the last of the row"),
    "the pointers are missing": (harwell_boeing(pointers="", rows="", values=""), "ends before the last of the column"),
    "duplicates that overflow": (
        harwell_boeing(rows="  1  1  4  4  1  2  4\n", values=" 1.0E308 1.0E308 1.0\n 1.0 1.0 1.0\n 1.0\n"),
        "overflows fp64",
    ),
}

LARGE: dict[str, Callable[[], bytes]] = {
    "Harwell-Boeing of 2·10^9 columns": lambda: _sizes(4, 2_000_000_000, 7),
    "Harwell-Boeing of 10^13 rows": lambda: _sizes(10**13, 3, 7),
    "Harwell-Boeing of 10^9 entries": lambda: _sizes(4, 3, 10**9),
    "Harwell-Boeing with a line of 1 MB": lambda: harwell_boeing(rows=" " * MIB + "\n"),
}
