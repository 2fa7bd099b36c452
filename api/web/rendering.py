"""HTML made of the bodies that REST answers with, or these bodies as they are."""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from api.access.page_sessions import csrf_token
from api.search.routes import capabilities
from api.server.json_response import as_json
from api.web import template_filters
from api.web.clock_times import ClockTimes
from api.web.page_visit import VIA
from shared.search.pipelines.plan_settings import limits_of
from shared.settings.settings import Settings
from shared.version import VERSION

TWIN = ".json"
THEMES, KEYS = frozenset({"dark", "light"}), frozenset({"on", "off"})
_NAV = (
    ("Search", "/"),
    ("Live", "/live"),
    ("Shift digest", "/digest"),
    ("Saved", "/saved"),
    ("Jobs", "/jobs"),
    ("Sources", "/sources"),
    ("Status", "/status"),
)
# Pages that show nothing that a program could want.
_NO_DATA = frozenset({"/help", "/login", "/logout", "/set"})
# Nothing comes from elsewhere, and nothing runs that is not a file of ours.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "same-origin",
    # Kept for the way back alone: then the place in a list is kept, too.
    "Cache-Control": "private, no-cache",
    "Vary": "Accept, Cookie",
}


def body_of(response: Response) -> Any:
    """Return the body of a REST answer, which a page shows."""
    return json.loads(bytes(response.body))


def is_twin(request: Request) -> bool:
    """Tell whether the address asks for JSON instead of the page."""
    path: str = request.scope["path"]
    return path.endswith(TWIN)


def show(
    request: Request, template: str, body: Any, *, status: int = 200, **values: Any
) -> Response:
    """Answer with a page made of a body, or with the body where that is asked for."""
    if is_twin(request):
        return as_json(body, status)
    text = render(request, template, body=body, **values)
    return HTMLResponse(text, status, headers=HEADERS)


def render(request: Request, template: str, **values: Any) -> str:
    """Return a page, or a part of one, as text."""
    made = _environment().get_template(template)
    return made.render(**frame(request, template), **values)


def frame(request: Request, template: str) -> dict[str, Any]:
    """Return the values that every page's template needs."""
    settings: Settings = request.app.state.settings
    who = getattr(request.state, "caller", None)
    scopes = who.scope.allowed if who else frozenset()
    here = place_of(request)
    path, _, query = here.partition("?")
    # Some addresses are a twin already: an error of one is shown as a page, too. The
    # number of an entry may end like one.
    is_entry = path.startswith("/e/")
    named = path if is_entry else path.removesuffix(TWIN) if path != "/" else "/index"
    # The page of an entry has a query for marking words; its REST route knows none.
    asked = f"?{query}" if query and not is_entry else ""
    return {
        "url": Links(settings.base_path),
        "page": template.removesuffix(".html"),
        "here": here,
        "twin": None
        if path in _NO_DATA
        else f"{settings.base_path}{named}{TWIN}{asked}",
        "version": VERSION,
        "times": times_of(request),
        "now": datetime.now(UTC),
        "scopes": scopes,
        "is_admin": bool(scopes and "admin" in scopes),
        "subject": who.scope.subject if who else None,
        "is_logged_in": bool(who and (who.scope.key_id or who.scope.is_person)),
        "is_person": bool(who and who.scope.is_person),
        "sign_out": settings.people.sign_out,
        "theme": _chosen(request, "theme", THEMES),
        "keys": _chosen(request, "keys", KEYS) or "on",
        "nav": _NAV,
        "modes": list_modes(request),
        "csrf": lambda: csrf_token(request.app.state.context.secret(), request),
    }


def place_of(request: Request) -> str:
    """Return where a request went, below the base path, as it was written.

    What is encoded in a path belongs to a name.
    """
    settings: Settings = request.app.state.settings
    raw: bytes = request.scope["raw_path"]
    path = raw.decode("ascii", "replace").removeprefix(settings.base_path)
    query = request.scope["query_string"].decode("latin-1")
    # Which link led here is written last, and told once.
    query = re.sub(f"&{VIA}=[^&]*", "", query)
    return path + (f"?{query}" if query else "")


def times_of(request: Request) -> ClockTimes:
    """Return the facility's clock."""
    return ClockTimes.of(request.app.state.settings)


class Links:
    """Addresses of this installation, below its base path."""

    def __init__(self, base_path: str) -> None:
        self._base = base_path

    def __call__(
        self, path: str, query: Mapping[str, Any] | None = None, **more: Any
    ) -> str:
        """Return an address, its query without values that are None or empty."""
        given = {**(query or {}), **more}
        pairs = [
            (name, one)
            for name, value in given.items()
            for one in (value if isinstance(value, list | tuple) else [value])
            if one not in {None, ""}
        ]
        return self._base + path + (f"?{urlencode(pairs)}" if pairs else "")

    def file(self, name: str) -> str:
        """Return the address of a stylesheet or script: another one of each version."""
        return f"{self._base}/static/{name}?v={digest_of(name)}"


@cache
def file_of(name: str) -> bytes:
    """Return a file that browsers load as it is."""
    return (resources.files("api.web") / "static" / name).read_bytes()


@cache
def digest_of(name: str) -> str:
    """Return a short digest of a static file, which changes with the file."""
    return hashlib.sha256(file_of(name)).hexdigest()[:12]


def _chosen(request: Request, name: str, among: frozenset[str]) -> str | None:
    """Return the reader's choice from a cookie; None if there is none."""
    chosen = request.cookies.get(name)
    return chosen if chosen in among else None


def list_modes(request: Request) -> list[dict[str, Any]]:
    """Return the modes that a question can be asked in here, those of others too."""
    state = request.app.state
    if not hasattr(state, "page_modes"):
        told = capabilities.list_modes(limits_of(state.settings))
        state.page_modes = [one for one in told if one["enabled"]]
    found: list[dict[str, Any]] = state.page_modes
    return found


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("api.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(template_filters.FILTERS)
    return made
