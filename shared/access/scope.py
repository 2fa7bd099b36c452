"""Who asks, and what they may see: it travels into every statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shared.errors import AccessError

SCOPES = ("read", "search", "ingest", "admin")
# Everybody and nobody, where readers are kept: whoever is called so is not meant.
_MARKS = frozenset({"*", "-"})


@dataclass(frozen=True, slots=True)
class Scope:
    """One caller's rights; every list of theirs narrows, none of them widens."""

    tenant: str
    subject: str
    groups: tuple[str, ...] = ()
    logbooks: tuple[str, ...] | None = None
    allowed: frozenset[str] = field(default_factory=frozenset)
    key_id: str | None = None
    key_name: str | None = None
    rate_per_minute: int | None = None
    # An installation's admin: a key of no facility in particular.
    everywhere: bool = False

    @property
    def caller(self) -> str:
        """Return the name of whoever asks: the key, or the subject without one."""
        return self.key_id or self.subject

    @property
    def watched(self) -> str:
        """Return whose due work the caller may see and release; `*` is all tenants'."""
        return "*" if self.everywhere else self.tenant

    @property
    def is_admin(self) -> bool:
        """Tell whether the caller administers the facility."""
        return "admin" in self.allowed

    @property
    def params(self) -> dict[str, Any]:
        """Return the parameters that every statement on a tenant's table takes."""
        return {
            "tenant": self.tenant,
            "logbooks": None if self.logbooks is None else list(self.logbooks),
            "principals": [
                one for one in (self.subject, *self.groups) if one not in _MARKS
            ],
        }

    def sees_all_of(self, other: Scope) -> bool:
        """Tell whether every entry that the other scope shows is shown by this one."""
        mine, theirs = self.params, other.params
        own, asked = mine["logbooks"], theirs["logbooks"]
        return (
            mine["tenant"] == theirs["tenant"]
            and set(mine["principals"]) >= set(theirs["principals"])
            and (own is None or (asked is not None and set(own) >= set(asked)))
        )

    def require(self, needed: str) -> None:
        """Raise unless the caller holds this scope; admins hold all of them."""
        if needed in self.allowed or self.is_admin:
            return
        message = f"This needs a key with the scope {needed!r}."
        raise AccessError(message, code="scope_missing", details={"needed": needed})
