"""Who else is active on this machine: OpenSearch here has no login to keep them out."""

import os
import pwd
from collections.abc import Iterable
from dataclasses import dataclass

import psutil

from local.service_user import SERVICE_USER

_FIRST_PERSON, _NOBODY = 1000, 65534
_NO_LOGIN = frozenset({"", "nologin", "false", "sync", "halt", "shutdown"})


@dataclass(frozen=True)
class Neighbour:
    """Another user with a process on this machine."""

    user: str
    pid: int
    process: str

    def __str__(self) -> str:
        """Name the user and one of the processes."""
        return f"{self.user} (process {self.pid}, {self.process})"


def others(myself: int | None = None) -> list[Neighbour]:
    """Return every other person with a running process, once each."""
    me = os.geteuid() if myself is None else myself
    found: dict[int, Neighbour] = {}
    for process in psutil.process_iter(["uids", "pid", "name"]):
        uids = process.info["uids"]
        uid = uids.effective if uids else None
        if uid is None or uid in found or uid == me or not _is_person(uid):
            continue
        user = pwd.getpwuid(uid).pw_name
        found[uid] = Neighbour(user, process.info["pid"], process.info["name"] or "?")
    return sorted(found.values(), key=lambda neighbour: neighbour.user)


def _is_person(uid: int) -> bool:
    """Tell whether somebody can log in as this user."""
    if uid < _FIRST_PERSON or uid == _NOBODY:
        return False
    try:
        account = pwd.getpwuid(uid)
    except KeyError:
        # A user of another container has a number here, and no account.
        return False
    return account.pw_name != SERVICE_USER and _is_login_shell(account.pw_shell)


def _is_login_shell(shell: str) -> bool:
    return shell.rpartition("/")[2] not in _NO_LOGIN


def describe_neighbours(neighbours: Iterable[Neighbour]) -> str:
    """Return the neighbours as a part of a sentence."""
    return ", ".join(str(neighbour) for neighbour in neighbours)
