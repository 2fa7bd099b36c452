"""X-Logchord-Fault: how an admin makes a branch late, empty or wrong on purpose."""

from dataclasses import dataclass

from shared.errors import CODES, InvalidRequestError

HEADER = "X-Logchord-Fault"
EVERY_BRANCH = "*"
_MAX_DELAY_MS = 300_000


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure that an admin orders: how a branch is to fail, and which."""

    branch: str
    delay_ms: int = 0
    error: str | None = None
    empty: bool = False

    def hits(self, module: str, family: str) -> bool:
        """Tell whether the fault names this module, its family, or every branch."""
        return self.branch in {EVERY_BRANCH, module, family}


def parse(header: str) -> Fault:
    """Read the header, or refuse it: a fault that does nothing proves nothing."""
    parts = [part.strip() for part in header.split(";") if part.strip()]
    values = dict(part.partition("=")[::2] for part in parts)
    unknown = set(values) - {"branch", "delay_ms", "error", "empty"}
    if unknown or "branch" not in values or len(values) < 2:  # noqa: PLR2004 - a branch and a fault
        raise _wrong("It takes branch=NAME and delay_ms=N, error=CODE or empty.")
    delay = values.get("delay_ms", "0")
    if not (delay.isascii() and delay.isdigit()) or int(delay) > _MAX_DELAY_MS:
        raise _wrong(f"delay_ms takes a number up to {_MAX_DELAY_MS}.")
    if "error" in values and values["error"] not in CODES:
        raise _wrong("error takes one of the error codes of the contract.")
    return Fault(values["branch"], int(delay), values.get("error"), "empty" in values)


def _wrong(message: str) -> InvalidRequestError:
    return InvalidRequestError.field(HEADER, "fault", message)
