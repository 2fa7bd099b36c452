"""What to do next when a source that is being added does not answer as it should."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from shared.times.date_orders import UnsureOrder

_LOGIN = (
    "Give a login: --user, and --secret with the name of a variable or the path of a"
    " file that holds the password."
)
_WRONG_LOGIN = (
    "The login that you gave is refused: look whether the user is right, and whether"
    " --secret holds the password of that user and nothing else."
)
_BEHIND_A_LOGIN = "not_authorised", "login_required"
_NAME_IT = "Behind a login the software may not show itself: name it with --adapter."
_BROWSER = "Copy the address from a browser that shows the logbook"
# By the reason of what went wrong; where none is named, its message says it all.
_NEXT: Mapping[str, str] = {
    "not_authorised": _LOGIN,
    "login_required": f"{_LOGIN} A single sign-on cannot be passed: ask for an account"
    " of the logbook itself.",
    "tls": "If it is the facility's own certificate, save it, compare its fingerprint"
    " with whoever runs the server, then add --ca-file logbook.pem:\n"
    "  openssl s_client -connect {server} </dev/null | openssl x509 > logbook.pem\n"
    "  openssl x509 -in logbook.pem -noout -fingerprint -sha256",
    "name_unknown": f"{_BROWSER}.",
    "no_connection": "Check host, port, and http:// or https://. If a browser on"
    " another machine shows the logbook, a firewall stands between.",
    "timeout": "Try it with `curl -v` on this machine: it is slow, or a firewall stands"
    " between.",
    "no_logbooks": "Name each with --logbook: --logbook Operations --logbook RF."
    " Those that have a login want --user and --secret, too.",
    "moved": "Add it by its new address.",
    "refused": f"{_BROWSER}, or name another --adapter.",
    "unexpected_shape": f"{_BROWSER}, or name another --adapter.",
}
_UNREAD: Mapping[str, str] = {
    "naive_time": "Say with --timezone which zone its times mean."
}
_UNREAD_MAPPED: Mapping[str, str] = {
    **_UNREAD,
    "time_unreadable": "Say how its times are written, in the codes of strptime: such"
    " as --time-format '%d/%m/%Y'. Else map the time that is named to the right column,"
    " as in --map event_time=PLACE.",
}
MISNAMED = (
    "Spell it as the records do, or leave it out; --force adds it as it is, for a field"
    " that only some records have."
)
_MAPPED = (
    "Look at what --map names: `entry_time` and `text` or `title` are to stand in the"
    " columns or keys that are listed above, spelt as there."
)
_OTHERWISE = (
    "Name the software with --adapter. Of files and databases, write into the"
    " configuration what stands where: `args.map`."
)


def unanswered(reason: str | None, place: Mapping[str, Any]) -> str:
    """Return the next step after a source that did not answer; empty where none is."""
    if reason == "login_required" and has_login(place):
        return _WRONG_LOGIN
    url = urlsplit(str(place.get("base_url", "")))
    port = url.port or (443 if url.scheme == "https" else 80)
    return _NEXT.get(reason or "", "").replace("{server}", f"{url.hostname}:{port}")


def unrecognised(reason: str | None, place: Mapping[str, Any]) -> str:
    """Return the next step where nobody could tell what software answers."""
    steps = [unanswered(reason, place)]
    if reason in _BEHIND_A_LOGIN:
        steps.append(_NAME_IT)
    return "\n".join(one for one in steps if one)


def has_login(place: Mapping[str, Any]) -> bool:
    """Tell whether a login is given for the form of the logbook itself."""
    return "user" in place.get("args", {})


def unknown_logbooks(wanted: Sequence[str], known: Sequence[str]) -> str:
    """Return the next step where a server does not name a logbook that is wanted."""
    return (
        f"The server names no logbook {' or '.join(wanted)}; it names"
        f" {', '.join(known)}. They are spelt as there, capitals included."
    )


def unread_part(*, has_login: bool) -> str:
    """Return the next step where some of the logbooks want a login."""
    first = _WRONG_LOGIN if has_login else _LOGIN
    return (
        f"{first} Or name only those that want none, each with --logbook; --force adds"
        " it without that part."
    )


def hidden(books: Sequence[str]) -> str:
    """Return the next step where the entries of some logbooks are closed to all."""
    first = shlex.quote(books[0])
    return (
        f"Say who may: --readers {first}=GROUP, or --readers {first}='*' for whoever"
        " may read the source. Then name every logbook so: one that is not named is"
        " hidden. --force adds it as it is."
    )


def unsure_order(order: UnsureOrder) -> str:
    """Return the next step where a date reads in two ways."""
    patterns = order.patterns()
    if patterns is None:
        which = (
            "--set args.day_first=true where the day comes first, else"
            " --set args.day_first=false"
        )
    else:
        day_first, month_first = patterns
        which = (
            f"--time-format {day_first!r} where the day comes first, else"
            f" --time-format {month_first!r}"
        )
    return f"Say which: {which}. --force adds it as it is."


def unread(reason: str, *, is_mapped: bool) -> str:
    """Return the next step after answers of which no entry could be made."""
    if is_mapped:
        return _UNREAD_MAPPED.get(reason, _MAPPED)
    return _UNREAD.get(reason, _OTHERWISE)
