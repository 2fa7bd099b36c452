"""A facility's own glossary: what may be said for a term, proposed and decided.

What is approved is searched beside its term. What was found in entries is told to
nobody who may see none of them, until somebody who may has approved it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, LiteralString

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.errors import InvalidRequestError, NotFoundError
from shared.glossary.synonyms import Pairs
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.text.words.folding import fold

State = Literal["proposed", "approved", "rejected"]

# The most approved forms of one term: each is searched for beside it.
MOST_APPROVED = 20
# The most forms of a facility, and how many of them are read for a question.
MOST_FORMS, MOST_READ = 20_000, 2000
# One sign may come apart into many, and a key must fit an index.
_KEY_CHARS = 200

# The present entries that explain a form `g`, from their evidence `v`.
SAID: LiteralString = f"""
      FROM glossary_evidence v
      JOIN entry e ON e.id = v.entry_id AND e.revision = v.revision
     WHERE v.tenant = %(tenant)s AND v.term_key = g.term_key
       AND v.form_key = g.form_key AND e.tenant = %(tenant)s
       AND e.deleted_at IS NULL{rights.SEEN}"""
# What the caller may be told of.
TOLD: LiteralString = f"""
       AND (g.by_hand OR g.state = 'approved' OR EXISTS (SELECT{SAID}))"""

_COUNT: LiteralString = """
    SELECT count(*)
      FROM (SELECT FROM glossary_form
             WHERE tenant = %(tenant)s
             LIMIT %(most)s) AS part"""
# What was rejected is proposed again; what is approved stays so.
_PROPOSE: LiteralString = """
    INSERT INTO glossary_form AS g
           (tenant, term_key, form_key, term, form, by_hand)
    SELECT %(tenant)s, %(term_key)s, f.key, %(term)s, f.form, true
      FROM unnest(%(keys)s::text[], %(forms)s::text[]) AS f (key, form)
     ORDER BY f.key
        ON CONFLICT (tenant, term_key, form_key) DO UPDATE
       SET by_hand = true,
           state = CASE g.state WHEN 'rejected' THEN 'proposed' ELSE g.state END"""
_OF_TERM: LiteralString = f"""
    SELECT g.form_key, g.form, g.state
      FROM glossary_form g
     WHERE g.tenant = %(tenant)s AND g.term_key = %(term_key)s{TOLD}
     ORDER BY g.form_key
     LIMIT 20000
       FOR UPDATE OF g"""
_DECIDE: LiteralString = """
    UPDATE glossary_form
       SET state = %(state)s, decided_at = now()
     WHERE tenant = %(tenant)s AND term_key = %(term_key)s
       AND form_key = ANY(%(keys)s::text[]) AND state <> %(state)s"""
_APPROVED: LiteralString = """
    SELECT term, form
      FROM glossary_form
     WHERE tenant = %(tenant)s AND state = 'approved'
     ORDER BY term_key, form_key
     LIMIT %(most)s"""


@dataclass(frozen=True, slots=True)
class _Held:
    form_key: str
    form: str
    state: State


def key_of(text: str) -> str:
    """Return the key that spellings of a term share; empty if it has no letter."""
    return " ".join(filter(None, map(fold, text.split())))[:_KEY_CHARS].strip()


def propose(conn: Connection, tenant: str, term: str, forms: Sequence[str]) -> None:
    """Store a proposed form of a term; it is not searched yet. Idempotent."""
    key = _named(term, "term")
    named = {_named(one, "expansions"): " ".join(one.split()) for one in forms}
    if key in named:
        message = "A term stands for itself already: give another way to say it."
        raise InvalidRequestError.field("expansions", "same_as_term", message)
    values = {
        "tenant": tenant,
        "most": MOST_FORMS + 1,
        "term_key": key,
        "term": " ".join(term.split()),
        "keys": list(named),
        "forms": list(named.values()),
    }
    if (fetch_value(conn, _COUNT, values) or 0) + len(named) > MOST_FORMS:
        message = f"A glossary may hold {MOST_FORMS} forms."
        raise InvalidRequestError.field("expansions", "too_many", message)
    conn.execute(_PROPOSE, values)


def decide(
    conn: Connection,
    scope: Scope,
    term: str,
    state: Literal["approved", "rejected"],
    forms: Sequence[str] | None,
) -> list[str]:
    """Approve or reject forms of a term, and return which changed; twice is once.

    Without any named: what is proposed, and a rejection takes back what is approved.
    """
    values = {**scope.params, "term_key": key_of(term), "state": state}
    held = {one.form_key: one for one in fetch_all(conn, _Held, _OF_TERM, values)}
    if not held:
        raise NotFoundError
    chosen = _chosen(held, state, forms)
    if state == "approved":
        known = {one.form_key for one in held.values() if one.state == state}
        if len(known | set(chosen)) > MOST_APPROVED:
            message = f"A term may have {MOST_APPROVED} approved expansions."
            raise InvalidRequestError.field("expansions", "too_many", message)
    conn.execute(_DECIDE, {**values, "keys": chosen})
    return [held[one].form for one in chosen if held[one].state != state]


def list_approved(conn: Connection, tenant: str) -> Pairs:
    """Return the approved pairs, in the same order every time."""
    values = {"tenant": tenant, "most": MOST_READ}
    return tuple((row[0], row[1]) for row in conn.execute(_APPROVED, values))


def _chosen(
    held: dict[str, _Held], state: State, forms: Sequence[str] | None
) -> list[str]:
    if forms is not None:
        named = sorted({key_of(one) for one in forms})
        if not held.keys() >= set(named):
            message = "There is no such expansion of this term."
            raise InvalidRequestError.field("expansions", "unknown", message)
        return named
    if state == "rejected":
        return list(held)
    open_to = [one.form_key for one in held.values() if one.state == "proposed"]
    if not open_to and all(one.state == "rejected" for one in held.values()):
        message = "What was rejected is approved if you name it in `expansions`."
        raise InvalidRequestError.field("expansions", "rejected", message)
    return open_to


def _named(text: str, path: str) -> str:
    key = key_of(text)
    if not key:
        message = f"{path}: letters or digits are needed."
        raise InvalidRequestError.field(path, "no_letters", message)
    return key
