"""Private files: whether another user of the host can change what lies at a path, or put something else there.

Code, caches of code, pickles and data are loaded only from private files: their owner is this user or root, nobody else
may write them or anything beneath, and nobody else may rename a folder above them.
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
"""As many links as the kernel follows in one path."""

OVERFLOW = 65534
"""Who owns, in a container, what belongs to a user that it does not know."""

USERS_ALL = "4294967295"
"""As many users as a host has, and a container that shares them."""


class Reason(StrEnum):
    """Why a path is not private."""

    MODE = "can be written by other users"
    OWNER = "belongs to another user"
    PARENT = "can be renamed by other users, who may write it"
    PARENT_OWNER = "belongs to another user, who may rename what is in it"


@dataclass(frozen=True, slots=True)
class Exposure:
    """A file or folder through which another user can change what is loaded."""

    path: Path
    reason: Reason

    @property
    def sentence(self) -> str:
        """What is wrong."""
        if self.reason is Reason.PARENT:
            return f"{self.path} can be written by other users, who may rename what is in it"
        return f"{self.path} {self.reason}"

    @property
    def command(self) -> str:
        """The command that mends it."""
        place = shell_quote(str(self.path))
        return {
            Reason.MODE: f"chmod -R go-w {place}",
            Reason.OWNER: f"chown -R {os.geteuid()} {place}",
            Reason.PARENT: f"chmod go-w {place}",
            Reason.PARENT_OWNER: f"chown {os.geteuid()} {place}",
        }[self.reason]


def exposures(path: Path, enclosed: bool = False) -> Iterator[Exposure]:
    """Yield what lets other users change the file or folder at a path; nothing where it is missing in a private folder.

    enclosed  beneath a folder that only its owner enters, modes do not count: a library leaves the user's umask alone
    """
    yield from exposures_above(path)
    try:
        closed = enclosed and not path.stat().st_mode & OTHERS_MAY
    except OSError:
        return
    yield from _beneath(path, closed, set())


def is_private(path: Path) -> bool:
    """Return whether no other user can change the file or folder, or anything beneath."""
    return next(exposures(path), None) is None


def explain(found: Exposure, more: int = 0) -> str:
    """Return two sentences: what is wrong, and the command that mends it."""
    others = f", and so for {more} more" if more else ""
    return f"{found.sentence}{others}. Run `{found.command}`."


def exposures_above(path: Path) -> Iterator[Exposure]:
    """Yield the folders in which others can put something else in place of the next step to a path."""
    known = {*_owners(), *_owners_of_parents()}
    for folder, entry in _steps(path):
        try:
            status = folder.stat()
        except OSError:
            return
        if status.st_uid not in known:
            yield Exposure(folder, Reason.PARENT_OWNER)
        elif _others_write(status) and not (status.st_mode & stat.S_ISVTX and _is_kept(entry)):
            yield Exposure(folder, Reason.PARENT)


def _steps(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each folder that is passed on the way to a path, with what is looked up in it; links are followed.

    The way ends early where this user, or a circle of links, comes no further: then nothing is loaded either.
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


def _is_kept(entry: Path) -> bool:
    """Return whether the sticky bit of its folder keeps an entry from others; one that is missing is judged later."""
    try:
        return entry.lstat().st_uid in _owners()
    except OSError:
        return True


def _beneath(path: Path, closed: bool, seen: set[tuple[int, int]]) -> Iterator[Exposure]:
    """Yield what of a tree others can write, and how they reach what its links name."""
    try:
        found = path.stat()
    except OSError:
        # Nothing can be loaded of it: a link into nowhere or in a circle, or what this user does not see.
        return
    if (found.st_dev, found.st_ino) in seen:
        return
    seen.add((found.st_dev, found.st_ino))
    if found.st_uid not in _owners():
        yield Exposure(path, Reason.OWNER)
    elif found.st_mode & OTHERS_MAY_WRITE and not closed:
        yield Exposure(path, Reason.MODE)
    if not stat.S_ISDIR(found.st_mode):
        return
    # What this user cannot list it does not load.
    with suppress(PermissionError):
        for entry in sorted(os.listdir(path)):
            child = path / entry
            if child.is_symlink():
                yield from exposures_above(child)
                yield from _beneath(child, False, seen)
            else:
                yield from _beneath(child, closed, seen)


def _owners() -> set[int]:
    """Return whose files may be loaded."""
    return {0, os.geteuid()}


def _owners_of_parents() -> set[int]:
    """Return who may own the folders above a volume in a container that does not know root of the host."""
    with suppress(OSError, IndexError):
        if Path("/proc/self/uid_map").read_text(encoding="ascii").split()[2] != USERS_ALL:
            return {OVERFLOW}
    return set()


def _others_write(found: os.stat_result) -> bool:
    """Return whether others than the owner may write; the group that has a user's name is of that user alone."""
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _is_own_group(found)


def _is_own_group(found: os.stat_result) -> bool:
    try:
        owner, group = pwd.getpwuid(found.st_uid), grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    alone = not set(group.gr_mem) - {owner.pw_name}
    return found.st_uid != 0 and owner.pw_gid == found.st_gid and group.gr_name == owner.pw_name and alone
