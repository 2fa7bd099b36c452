"""Who calls: a key, a person behind a gateway, or this machine where it may."""

import asyncio
import ipaddress
import time
from collections.abc import Callable, Mapping

from starlette.requests import Request

from api.access import gateway, page_sessions
from shared.access import ended_sessions, group_rights, keys
from shared.access.limits import Kind, Limiter, refuse
from shared.access.scope import Scope
from shared.errors import AccessError
from shared.log import get_logger
from shared.postgres.pool import Pool, connection
from shared.settings.settings import Settings

log = get_logger()

# A revoked key works on for as long as this, in each API process.
CACHE_SECONDS = 2.0
_CACHED_KEYS = 10_000
# What a proxy adds for somebody else; some name the scheme or themselves alone.
_FORWARDING = frozenset({"forwarded", "via", "x-real-ip", "x-client-ip"})
_FORWARDING_PREFIXES = ("x-forwarded-", "cf-connecting-")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Callers:
    """Finds the caller of a request and counts it against their limit."""

    def __init__(
        self,
        settings: Settings,
        pool: Pool,
        limiter: Limiter,
        note_use: Callable[[Scope], None],
        secret: Callable[[], bytes],
    ) -> None:
        self._settings = settings
        self._secret = secret
        self._note_use = note_use
        self._pool = pool
        self._limiter = limiter
        self._limits: Mapping[Kind, int] = {
            "search": settings.rate_search_per_minute,
            "ingest": settings.rate_ingest_per_minute,
            "default": settings.rate_default_per_minute,
        }
        self._trusted = [ipaddress.ip_network(one) for one in settings.trusted_proxies]
        self._known: dict[str, tuple[float, Scope]] = {}
        # One look serves all who come with the same key meanwhile.
        self._asked: dict[str, asyncio.Task[Scope]] = {}
        self._anonymous = Scope(
            tenant=keys.DEFAULT_TENANT,
            subject="anonymous",
            allowed=frozenset(settings.anonymous_scopes),
        )

    async def find(self, request: Request) -> Scope:
        """Return the caller's rights, or raise 401; of a person, or 403."""
        person = self._find_person(request)
        token = _token(request, person)
        if token is not None:
            # Garbage must cost neither a thread nor a connection of the real callers'.
            keys.check_shape(token)
        else:
            token = _session(request)
        if token is not None:
            known = await self._known_by(token)
            return known if person is None else known.narrow_to(person)
        if person is None and not self._may_be_anonymous(request):
            raise AccessError(self._name_silent_gateway(request))
        _refuse_foreign_pages(request)
        return person or self._anonymous

    def _find_person(self, request: Request) -> Scope | None:
        """Return the rights of whom a gateway names, as they are at this moment."""
        if self._settings.people.header is None:
            return None
        now = group_rights.read_people(self._settings)
        is_trusted = self._is_trusted(_peer(request))
        named = gateway.find_person(request, now, is_trusted=is_trusted)
        if named is None:
            return None
        needed = getattr(request.scope.get("route"), "needed", None)
        person = group_rights.find_rights(now, *named, needed or "read")
        self._note_use(person)
        return person

    def _name_silent_gateway(self, request: Request) -> str | None:
        """Say that a gateway named nobody; None where none was there to name them."""
        header = self._settings.people.header
        if header is None or not self._is_trusted(_peer(request)):
            return None
        return f"The gateway named nobody in {header}, and there is no key."

    async def _known_by(self, token: str) -> Scope:
        """Return whose key, or session, it is, as it was a moment ago."""
        known = self._known.get(token)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        asked = self._asked.get(token)
        if asked is None:
            asked = asyncio.create_task(self._ask(token), name="look up a key")
            self._asked[token] = asked
            asked.add_done_callback(lambda task: self._has_asked(token, task))
        # Whoever goes away leaves it to the others.
        return await asyncio.shield(asked)

    async def end_session(self, request: Request) -> None:
        """End the session that a request brings, for copies of its cookie, too."""
        session = page_sessions.session_of(request)
        if session is not None:
            await asyncio.to_thread(self._end, session)
            self._known.pop(session, None)

    async def limit(self, request: Request, scope: Scope, kind: Kind) -> None:
        """Count a request against the caller's limit per minute, or raise 429."""
        limit = scope.rate_per_minute
        if limit is None:
            limit = self._limits[kind]
        is_known = scope.key_id is not None or scope.is_person
        who = scope.caller if is_known else f"anonymous:{self.address(request)}"
        # Reads, searches and pushes go on while Redis is away; other writes wait.
        open_without_redis = kind != "default" or request.method in _SAFE_METHODS
        allowance = await self._limiter.take(
            f"{who}:{kind}", limit, may_go_local=open_without_redis
        )
        request.state.rate_headers = allowance.headers
        if not allowance.allowed:
            raise refuse(allowance)

    def address(self, request: Request) -> str:
        """Return the caller's address; a proxy's word counts only if it is trusted."""
        peer = _peer(request)
        if self._is_trusted(peer):
            forwarded = request.headers.get("x-forwarded-for", "")
            if forwarded:
                return forwarded.rsplit(",", 1)[-1].strip()[:64]
        return peer

    def _is_trusted(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        # Where both kinds are listened to, the older comes as the newer.
        plain = getattr(address, "ipv4_mapped", None) or address
        return any(plain in network for network in self._trusted)

    async def _ask(self, token: str) -> Scope:
        began = time.monotonic()
        scope = await asyncio.to_thread(self._look_up, token)
        self._note_use(scope)
        if len(self._known) >= _CACHED_KEYS:
            self._known.clear()
        self._known[token] = (began + CACHE_SECONDS, scope)
        return scope

    def _has_asked(self, token: str, task: asyncio.Task[Scope]) -> None:
        del self._asked[token]
        if not task.cancelled():
            # Seen, where everybody has gone meanwhile.
            task.exception()

    def _look_up(self, token: str) -> Scope:
        if token.startswith("lk_"):
            with connection(self._pool) as conn:
                return keys.find(conn, token)
        key_id = page_sessions.read_session(self._secret(), token)
        with connection(self._pool) as conn:
            if ended_sessions.has_ended(conn, token):
                raise page_sessions.is_over()
            return keys.find_by_id(conn, key_id)

    def _end(self, session: str) -> None:
        try:
            page_sessions.read_session(self._secret(), session)
        except AccessError as exc:
            log.info("session_over", code=exc.error_code)
            return
        with connection(self._pool) as conn:
            until = page_sessions.end_of(session)
            ended_sessions.end_session(conn, session, until)

    def _may_be_anonymous(self, request: Request) -> bool:
        if not self._settings.anonymous_loopback or request.client is None:
            return False
        if is_forwarded(request):
            return False
        host = request.headers.get("host", "")
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        return is_loopback(request.client.host) and name in self._settings.allowed_hosts


def _peer(request: Request) -> str:
    return request.client.host if request.client else ""


def _refuse_foreign_pages(request: Request) -> None:
    """Refuse a write that a page of somebody else has made a browser here send.

    A browser sends forms and files without asking first, and has no key to lack;
    through a gateway it sends whoever sits there along.
    """
    origin = request.headers.get("origin")
    if request.method in _SAFE_METHODS or origin is None:
        return
    if origin.partition("://")[2] != request.headers.get("host", ""):
        message = f"A page of {origin[:100]!r} may not write here without a key."
        raise AccessError(message, code="origin_refused")


def is_forwarded(request: Request) -> bool:
    """Tell whether a proxy says that it speaks for somebody else."""
    return any(
        name in _FORWARDING or name.startswith(_FORWARDING_PREFIXES)
        for name in request.headers
    )


def is_loopback(address: str) -> bool:
    """Tell whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _session(request: Request) -> str | None:
    """Return the session of a page's reader; only a page's forms may write with it."""
    route = request.scope.get("route")
    is_form = getattr(route, "takes_session_writes", False)
    if request.method not in _SAFE_METHODS and not is_form:
        return None
    return page_sessions.session_of(request)


def _token(request: Request, person: Scope | None) -> str | None:
    given = request.headers.get("authorization")
    if given is not None:
        kind, _, token = given.partition(" ")
        token = token.strip() if kind.lower() == "bearer" else ""
        # A gateway may hand on what it was logged in with: that is no key of ours.
        if person is None or token.startswith("lk_"):
            return token
    return request.headers.get("x-api-key")
