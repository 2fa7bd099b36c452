"""Who asks, and what they may see: it travels into every statement."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
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
    # Somebody whom a gateway names; with a key, too, an agent acts for them.
    is_person: bool = False
    # Whom readers may name; None: the subject and the groups.
    reads_as: tuple[str, ...] | None = None

    def to_values(self) -> dict[str, Any]:
        """Return the rights as a plan carries them.

        A release before gateways refuses what it does not know: only for a person
        whom one names is there any of that.
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        if not self.is_person:
            del values["is_person"]
        if self.reads_as is None:
            del values["reads_as"]
        return values

    @property
    def caller(self) -> str:
        """Return the name of whoever asks: a key, a person, both, or the subject."""
        if not self.is_person:
            return self.key_id or self.subject
        return f"{self.key_id or ''} person:{self.subject}".lstrip()

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
            "principals": [one for one in self._principals if one not in _MARKS],
        }

    @property
    def _principals(self) -> tuple[str, ...]:
        own = (self.subject, *self.groups)
        return own if self.reads_as is None else self.reads_as

    @property
    def _held(self) -> frozenset[str]:
        return frozenset(SCOPES) if self.is_admin else self.allowed

    def narrow_to(self, person: Scope) -> Scope:
        """Return the rights that this key and a person it acts for have both."""
        if self.tenant != person.tenant:
            message = "This key is of another facility than the person it acts for."
            needed = {"needed": f"tenant:{person.tenant}"}
            raise AccessError(message, code="scope_missing", details=needed)
        theirs = person.logbooks
        own = theirs if self.logbooks is None else self.logbooks
        both = own if theirs is None or own is None else {*own} & {*theirs}
        return replace(
            self,
            subject=person.subject,
            groups=person.groups,
            logbooks=None if both is None else tuple(sorted(both)),
            allowed=self._held & person._held,
            everywhere=False,
            is_person=True,
            reads_as=tuple(
                one for one in self._principals if one in person._principals
            ),
        )

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
        if self.is_person:
            message = f"This needs the scope {needed!r}, which {self.subject} lacks."
        raise AccessError(message, code="scope_missing", details={"needed": needed})

    def require_all_logbooks(self) -> None:
        """Raise unless the caller's rights end at no logbook of the facility."""
        if self.logbooks is not None:
            message = "This names entries of every logbook, and needs rights to all."
            needed = {"needed": "logbook:*"}
            raise AccessError(message, code="scope_missing", details=needed)
