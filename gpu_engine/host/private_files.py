"""Private files: checks whether another user of the host can change or replace the file or folder at a path.

Code, caches of code, pickles, and data are loaded only from private files: this user or root owns them, and no one else
may write them or anything below them, or rename a folder above them.
"""

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shlex import quote as shell_quote

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS_MAY = stat.S_IRWXG | stat.S_IRWXO
LINKS_MAX = 40
"""Maximum number of links that the operating system follows in one path."""

OVERFLOW = 65534
"""User id that a container shows for files of users that it does not know."""

USERS_ALL = "4294967295"
"""Number of user ids of a host, and of a container that shares them."""


class Reason(StrEnum):
    """Reasons why a path is not private."""

    MODE = "can be written by other users"
    OWNER = "belongs to another user"
    PARENT = "can be renamed by other users, who may write it"
    PARENT_OWNER = "belongs to another user, who may rename what is in it"


@dataclass(frozen=True, slots=True)
class Exposure:
    """A file or folder through which another user can change loaded files."""

    path: Path
    reason: Reason

    @property
    def sentence(self) -> str:
        """Sentence, without period, that describes the problem."""
        if self.reason is Reason.PARENT:
            return f"{self.path} can be written by other users, who may rename what is in it"
        return f"{self.path} {self.reason}"

    @property
    def command(self) -> str:
        """Shell command that fixes the problem."""
        path = shell_quote(str(self.path))
        return {
            Reason.MODE: f"chmod -R go-w {path}",
            Reason.OWNER: f"chown -R {os.geteuid()} {path}",
            Reason.PARENT: f"chmod go-w {path}",
            Reason.PARENT_OWNER: f"chown {os.geteuid()} {path}",
        }[self.reason]


def exposures(path: Path, enclosed: bool = False) -> Iterator[Exposure]:
    """Yield the exposures of the file or folder at a path; none if it is missing in a private folder.

    enclosed  ignore modes below a folder that only its owner can enter, because libraries use the user's umask
    """
    yield from exposures_above(path)
    try:
        closed = enclosed and not path.stat().st_mode & OTHERS_MAY
    except OSError:
        return
    yield from _below(path, closed, set())


def is_private(path: Path) -> bool:
    """Return whether no other user can change the file or folder, or anything below it."""
    return next(exposures(path), None) is None


def explain(exposure: Exposure, more: int = 0) -> str:
    """Return two sentences: the problem, and the command that fixes it."""
    others = f" (and {more} more)" if more else ""
    return f"{exposure.sentence}{others}. Run `{exposure.command}`."


def exposures_above(path: Path) -> Iterator[Exposure]:
    """Yield the folders above a path in which other users can replace the next folder or file."""
    known = {*_owners(), *_owners_of_parents()}
    for folder, entry in _steps(path):
        try:
            status = folder.stat()
        except OSError:
            return
        if status.st_uid not in known:
            yield Exposure(folder, Reason.PARENT_OWNER)
        elif _others_write(status) and not (status.st_mode & stat.S_ISVTX and _is_protected(entry)):
            yield Exposure(folder, Reason.PARENT)


def _steps(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each folder on the way to a path, with the entry that is looked up in it; links are followed.

    It ends early if this user has no access or links form a cycle; then nothing can be loaded either.
    """
    path = path.absolute()
    place, rest, links = Path(path.anchor), list(path.parts[1:]), 0
    while rest:
        entry = place / rest.pop(0)
        if entry.name == "..":
            place = place.parent
            continue
        yield place, entry
        if not os.path.islink(entry):
            place = entry
            continue
        links += 1
        if links > LINKS_MAX:
            return
        target = Path(os.readlink(entry))
        rest[:0] = target.parts[1:] if target.is_absolute() else target.parts
        place = Path(target.anchor) if target.is_absolute() else place


def _is_protected(entry: Path) -> bool:
    """Return whether the sticky bit of its folder protects an entry; a missing entry is checked later."""
    try:
        return entry.lstat().st_uid in _owners()
    except OSError:
        return True


def _below(path: Path, closed: bool, visited: set[tuple[int, int]]) -> Iterator[Exposure]:
    """Yield the exposures in a folder tree, and of the targets of its links."""
    try:
        status = path.stat()
    except OSError:
        # Nothing can be loaded from it: a broken link, a cycle of links, or no access.
        return
    if (status.st_dev, status.st_ino) in visited:
        return
    visited.add((status.st_dev, status.st_ino))
    if status.st_uid not in _owners():
        yield Exposure(path, Reason.OWNER)
    elif status.st_mode & OTHERS_MAY_WRITE and not closed:
        yield Exposure(path, Reason.MODE)
    if not stat.S_ISDIR(status.st_mode):
        return
    # This user loads nothing from a folder that it cannot list.
    with suppress(PermissionError):
        for entry in sorted(os.listdir(path)):
            child = path / entry
            if child.is_symlink():
                yield from exposures_above(child)
                yield from _below(child, False, visited)
            else:
                yield from _below(child, closed, visited)


def _owners() -> set[int]:
    """Return the ids of users whose files may be loaded."""
    return {0, os.geteuid()}


def _owners_of_parents() -> set[int]:
    """Return further owners of parent folders, for a container that does not know root of the host."""
    with suppress(OSError, IndexError):
        if Path("/proc/self/uid_map").read_text(encoding="ascii").split()[2] != USERS_ALL:
            return {OVERFLOW}
    return set()


def _others_write(status: os.stat_result) -> bool:
    """Return whether users other than the owner may write; a user's private group does not count."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status)


def _is_private_group(status: os.stat_result) -> bool:
    try:
        owner, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    alone = not set(group.gr_mem) - {owner.pw_name}
    return status.st_uid != 0 and owner.pw_gid == status.st_gid and group.gr_name == owner.pw_name and alone
