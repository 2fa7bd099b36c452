"""Whom a gateway in front of the API names, in the headers that it sets."""

import re

from starlette.requests import Request

from shared.errors import AccessError
from shared.settings.sections import PeopleSettings

# As long as the subject of a key.
_MOST_CHARS = 255


def find_person(
    request: Request, people: PeopleSettings, *, is_trusted: bool
) -> tuple[str, list[str]] | None:
    """Return the person and their groups; None: nobody is named.

    A header that could be anybody's is refused: whoever sends one relies on it.
    """
    found = {"": ""}
    for name in people.headers:
        values = request.headers.getlist(name) if name else []
        if values and not is_trusted:
            peer = request.client.host if request.client else "who is unknown"
            raise _make_refusal(
                f"{name} counts from trusted_proxies alone; {peer} is none of them."
            )
        if len(values) > 1:
            raise _make_refusal(
                f"{name} came twice: the gateway must set it, not add it."
            )
        found[name or ""] = _decode_header("".join(values))
    person = found[people.header or ""]
    if not person:
        return None
    listed = found[people.groups_header or ""]
    parts = re.split(rf"(?<!\\)[{people.groups_separator}]", listed)
    groups = [re.sub(r"\\(?=[,;|])", "", part).strip() for part in parts]
    named = [person, *filter(None, groups)]
    for one in named:
        if not one.isprintable() or len(one) > _MOST_CHARS:
            raise _make_refusal(
                f"The gateway names {one[:100]!a}: a name may have {_MOST_CHARS}"
                " printable characters."
            )
    return person, named[1:]


def _decode_header(value: str) -> str:
    """Return a header as UTF-8, as gateways send it, or else as it is, Latin-1."""
    try:
        return value.encode("latin-1").decode("utf-8").strip()
    except UnicodeDecodeError:
        return value.strip()


def _make_refusal(message: str) -> AccessError:
    return AccessError(message, code="origin_refused")
