"""Messages of a sample run: what it does now, as text that people read and pages take apart."""

import re

STOPPED_BEFORE_START = "not measured: the job was stopped before this kernel ran"
"""Reason of a case that was skipped because its job was stopped early."""

CHECKING = "checking "
"""Start of the message while kernels are prepared and verified."""

ROUND = re.compile(r"round (\d+) of (\d+), ")


def checking(kernel: str) -> str:
    """Return the message while a kernel is prepared and verified."""
    return f"{CHECKING}{kernel}"


def in_round(number: int, rounds: int, cache: str, so_far: str) -> str:
    """Return the message of a round in a cache state; number counts from 1; so_far: end of the message."""
    return f"round {number} of {rounds}, {cache}{so_far}"


def round_of(message: str) -> tuple[int, int] | None:
    """Return the number of the round of a message and the most rounds; None while no round runs."""
    found_round = ROUND.match(message)
    return (int(found_round[1]), int(found_round[2])) if found_round else None
