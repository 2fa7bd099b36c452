"""As root the servers run as a system user of their own, from copies it can read.

Nothing outside `/var/lib/logchord` changes its owner or its permissions: what the
system user cannot reach is copied there, or lives there from the start.
"""

import fcntl
import os
import pwd
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from local.place import ServerError

SERVICE_USER = "logchord"
SHARED = Path("/var/lib/logchord")
_POINTER = "servers-live-in"


def is_root() -> bool:
    """Tell whether this process may, and must, hand the servers to another user."""
    return os.geteuid() == 0


def announce(message: str) -> None:
    """Tell the person at the terminal about a change to the machine."""
    print(message, file=sys.stderr, flush=True)  # noqa: T201 - meant for a terminal


def ensure_service_user(announce: Callable[[str], None] = announce) -> None:
    """Make the system user once, and say so; as anyone but root do nothing."""
    if not is_root():
        return
    make_open(SHARED)
    # It is root's default home too, and whoever made it may have closed it.
    SHARED.chmod(stat.S_IMODE(SHARED.stat().st_mode) | 0o711)
    with locked(SHARED / "user.lock"):
        if account() is None:
            _add_user()
            announce(f"Made the system user {SERVICE_USER!r}: the servers run as it.")


def account() -> pwd.struct_passwd | None:
    """Return the service user, or None as long as it was not made."""
    try:
        return pwd.getpwnam(SERVICE_USER)
    except KeyError:
        return None


def as_service_user(argv: list[str]) -> list[str]:
    """Return the command as root must start it; for anyone else, unchanged."""
    if not is_root():
        return argv
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise ServerError(
            "As root the servers run as another user, which needs the program "
            "setpriv (package util-linux). Install it, or start Logchord as an "
            "ordinary user."
        )
    identity = [f"--reuid={SERVICE_USER}", f"--regid={SERVICE_USER}"]
    return [setpriv, *identity, "--clear-groups", "--no-new-privs", "--", *argv]


def own(path: Path) -> None:
    """Give one file or folder to the service user; as anyone but root do nothing."""
    user = account()
    if is_root() and user is not None:
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)


def refuse_home_of_others(home: Path) -> None:
    """Refuse a home in which somebody else's Postgres has its data.

    Postgres starts as their owner alone, and as root we would take their folders.
    """
    user = account()
    ours = {os.geteuid()}
    if is_root() and user is not None:
        ours.add(user.pw_uid)
    try:
        owner = (home / "data" / "postgres").stat().st_uid
    except OSError:
        return
    if owner not in ours:
        try:
            name = pwd.getpwuid(owner).pw_name
        except KeyError:
            name = str(owner)
        raise ServerError(
            f"The stack in {home} is that of the user {name!r}. Start it as that user,"
            " or set LOGCHORD_HOME to a folder of your own."
        )


def make_open(folder: Path) -> None:
    """Make a folder that the service user can enter, whatever the umask says."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        if is_root():
            folder.chmod(0o755)


def write_secret(path: Path, text: str) -> None:
    """Write a file that only the servers' user may read, never seen half open."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(text)
    own(path)


def reachable(path: Path) -> bool:
    """Tell whether the service user can walk from the root folder into this one."""
    user = account()
    if not is_root() or user is None:
        return True
    whole = path.absolute()
    real = whole.resolve()
    return all(
        _may_enter(folder, user)
        for folder in {*whole.parents, whole, *real.parents, real}
        if folder.exists()
    )


def data_home(home: Path) -> Path:
    """Return the folder below which the servers of this home keep their files.

    It is the home itself, unless the service user cannot reach that. The choice is
    written down in the home, so that data never seem lost after a change of mode.
    """
    if not is_root():
        return home
    pointer = home / _POINTER
    if pointer.exists():
        return Path(pointer.read_text(encoding="utf-8"))
    if reachable(home):
        return home
    if (home / "data" / "postgres" / "PG_VERSION").exists():
        raise ServerError(
            f"The data in {home} can no longer be reached by the user "
            f"{SERVICE_USER!r}: one of its parent folders was closed. Open it again."
        )
    return _moved_home(home, pointer)


def discard_home(home: Path) -> None:
    """Delete what the servers of this home keep elsewhere; they must be stopped."""
    pointer = home / _POINTER
    if not is_root() or not pointer.exists():
        return
    moved = Path(pointer.read_text(encoding="utf-8"))
    pointer.unlink()
    if moved.parent == SHARED / "homes":
        shutil.rmtree(moved, ignore_errors=True)


def shared_copy(name: str, *sources: Path) -> Path:
    """Return the folder that holds these sources, readable for the service user.

    For root a copy below `/var/lib/logchord`, made once and whole or not at all; for
    anyone else the folder where they lie.
    """
    if not is_root():
        return sources[0].parent
    servers = SHARED / "servers"
    for folder in (SHARED, servers):
        make_open(folder)
    copy = servers / name
    with locked(servers / f"{name}.lock"):
        if not copy.is_dir():
            # What a killed process left; the lock says that nobody is at work.
            for left in servers.glob(f".{name}-*"):
                shutil.rmtree(left, ignore_errors=True)
            fresh = Path(tempfile.mkdtemp(dir=servers, prefix=f".{name}-"))
            try:
                for source in sources:
                    _copy(source, fresh / source.name)
                fresh.chmod(0o755)
                fresh.replace(copy)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
    return copy


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes wait for; it ends with this process."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _add_user() -> None:
    useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if useradd is None:
        raise ServerError(
            f"As root the servers run as the system user {SERVICE_USER!r}, and this "
            "machine has no useradd to make it. Make it by hand, or start Logchord "
            "as an ordinary user."
        )
    command = [useradd, "--system", "--user-group", "--no-create-home"]
    options = ["--home-dir", str(SHARED), "--shell", "/usr/sbin/nologin"]
    made = subprocess.run(
        [*command, *options, SERVICE_USER], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        message = f"The system user {SERVICE_USER!r} was not made: {made.stderr}"
        raise ServerError(message)


def _may_enter(folder: Path, user: pwd.struct_passwd) -> bool:
    status = folder.stat()
    if status.st_uid == user.pw_uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == user.pw_gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)


def _moved_home(home: Path, pointer: Path) -> Path:
    homes = SHARED / "homes"
    for folder in (SHARED, homes):
        make_open(folder)
    with locked(homes / ".lock"):
        _sweep(homes)
        # A new name: a temporary home may come back under the same path, empty.
        moved = homes / f"{home.name}-{secrets.token_hex(4)}"
        make_open(moved)
        (moved / "origin").write_text(str(pointer.absolute()), encoding="utf-8")
        # Whole or not at all: an empty one would name the folder at hand.
        fresh = pointer.with_name(f"{pointer.name}.new")
        fresh.write_text(str(moved), encoding="utf-8")
        fresh.replace(pointer)
    return moved


def _sweep(homes: Path) -> None:
    """Delete what temporary homes left behind; any other home is somebody's data."""
    temporary = Path(tempfile.gettempdir()).absolute()
    for origin in homes.glob("*/origin"):
        pointer = Path(origin.read_text(encoding="utf-8"))
        if temporary in pointer.parents and not _points_to(pointer, origin.parent):
            shutil.rmtree(origin.parent, ignore_errors=True)


def _points_to(pointer: Path, moved: Path) -> bool:
    return pointer.exists() and pointer.read_text(encoding="utf-8") == str(moved)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)
    # The copies are ours: whatever umask the originals had, they must be readable.
    for path in [target, *(target.rglob("*") if target.is_dir() else ())]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
