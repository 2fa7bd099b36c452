"""A key traded for a session, and the end of one."""

import asyncio
from http import HTTPStatus

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from api.access import page_sessions
from api.access.audit import make_login
from api.access.callers import is_forwarded, is_loopback
from api.context import ApiContext, Ctx, caller
from api.web import page_visit, rendering
from api.web.page_route import page_router, place_of_ours, read_form
from api.web.routes.choices import Next
from shared.access import keys, limits
from shared.access.scope import Scope
from shared.errors import AccessError
from shared.log import get_logger
from shared.postgres.pool import connection

log = get_logger()

router = page_router()


@router.get("/login")
async def get_login(request: Request, ctx: Ctx, back: Next = "/") -> Response:
    """Show the form, or who is logged in."""
    who, problem = None, ""
    if page_sessions.session_of(request) or ctx.settings.people.header:
        try:
            found = (await caller(request, ctx)).scope
        except AccessError as exc:
            log.info("session_over", code=exc.error_code)
            # Whom a gateway names is told why not; a session is over, that is all.
            problem = exc.message if exc.status == HTTPStatus.FORBIDDEN else ""
        else:
            who = found if found.key_id or found.is_person else None
    return _form(request, place_of_ours(back), who=who, problem=problem)


@router.post("/login")
async def post_login(request: Request, ctx: Ctx) -> Response:
    """Set the cookie of a session for the key that is shown, and go on."""
    form = await read_form(request)
    address = ctx.callers.address(request)
    allowance = await ctx.limiter.take(
        f"login:{address}", ctx.settings.rate_login_per_minute, may_go_local=False
    )
    if not allowance.allowed:
        raise limits.refuse(allowance)
    back = place_of_ours(str(form.get("next", "/")))
    token = str(form.get("key", "")).strip()
    try:
        key_id = keys.check_shape(token)[1]
        try:
            scope = await asyncio.to_thread(_scope_of, ctx, token)
        except AccessError:
            ctx.audit.note(make_login(request, key_id))
            raise
    except AccessError as exc:
        log.info("login_refused", code=exc.error_code)
        return _form(request, back, status=403, problem="This key is not valid.")
    await ctx.callers.end_session(request)
    ctx.audit.note(make_login(request, key_id, scope))
    log.info("logged_in", key_id=key_id)
    answer = RedirectResponse(ctx.settings.base_path + back, 303)
    peer = request.client.host if request.client else ""
    answer.set_cookie(
        page_sessions.COOKIE,
        page_sessions.make_session(ctx.secret(), key_id),
        max_age=page_sessions.SECONDS,
        path=ctx.settings.base_path or "/",
        httponly=True,
        samesite="strict",
        secure=is_forwarded(request) or not is_loopback(peer),
    )
    return answer


@router.post("/logout")
async def post_logout(request: Request, ctx: Ctx) -> Response:
    """End the session, in this browser and wherever its cookie was copied to."""
    form = await read_form(request)
    await ctx.callers.end_session(request)
    base = ctx.settings.base_path
    # Whoever was refused a page logs in with another key, and goes back to it.
    back = str(form.get("next", ""))
    login = rendering.Links(base)("/login", next=place_of_ours(back) if back else None)
    answer = RedirectResponse(login, 303)
    answer.delete_cookie(page_sessions.COOKIE, path=base or "/")
    page_visit.end_visit(answer, ctx)
    return answer


def _scope_of(ctx: ApiContext, token: str) -> Scope:
    with connection(ctx.pool) as conn:
        return keys.find(conn, token)


def _form(
    request: Request,
    back: str,
    *,
    who: Scope | None = None,
    status: int = 200,
    problem: str = "",
) -> Response:
    text = rendering.render(request, "login.html", back=back, who=who, problem=problem)
    return HTMLResponse(text, status, headers=rendering.HEADERS)
