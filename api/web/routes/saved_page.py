"""Saved searches of whoever looks: listed, added, tried on history, removed."""

import asyncio
from uuid import UUID

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, QueryParams

from api.context import ApiContext, Caller, Ctx, needs
from api.search.routes import saved_searches
from api.search.schemas.saved_searches import AlertIn, PreviewIn, SavedSearchIn
from api.search.schemas.search import SearchRequest
from api.web import rendering
from api.web.page_route import PageRoute, page_router, read_form
from api.web.search_form import SearchForm, is_filter
from shared.errors import InvalidRequestError


class SavedRoute(PageRoute):
    """Takes the form for one more, as far as it was filled in."""

    def takes(self, name: str) -> bool:
        """Whether a parameter is one of the page."""
        return name in {"q", "name", "semantic", "id"} or is_filter(name)


router = page_router(needs("search"), route_class=SavedRoute)

_MOST_NAME = 200


@router.get("/saved")
@router.get("/saved.json")
def get_saved_page(
    request: Request,
    caller: Caller,
    ctx: Ctx,
    preview: UUID | None = None,
    alerts: UUID | None = None,
    cursor: str | None = None,
) -> Response:
    """List them with a form for one more; of one, its dry run or its alerts."""
    listed = saved_searches.list_saved_searches(caller, ctx, limit=50, cursor=cursor)
    body = rendering.body_of(listed)
    tried, told = None, None
    if preview is not None:
        found = saved_searches.post_preview(preview, caller, ctx, PreviewIn())
        tried = rendering.body_of(found)
    if alerts is not None:
        told = rendering.body_of(saved_searches.list_alerts(alerts, caller, ctx))
    shown = {"preview": tried and {"id": str(preview), **tried}}
    shown["alerts"] = told and {"id": str(alerts), **told}
    form = SearchForm.read(request.query_params)
    pages = {one["id"]: SearchForm.of_request(one["request"]) for one in body["items"]}
    told_of = {**body, **shown}
    name = request.query_params.get("name")
    typed = {
        "name": form.q if name is None else name,
        "semantic": name is None or "semantic" in request.query_params,
    }
    return rendering.show(
        request, "saved.html", told_of, form=form, pages=pages, typed=typed
    )


@router.post("/saved")
async def post_saved_form(request: Request, caller: Caller, ctx: Ctx) -> Response:
    """Add one, or remove one, and list them as before."""
    form = await read_form(request)
    await asyncio.to_thread(_act, form, caller, ctx)
    return RedirectResponse(f"{ctx.settings.base_path}/saved", 303)


def _act(form: FormData, caller: Caller, ctx: ApiContext) -> None:
    if form.get("action") == "remove":
        try:
            chosen = UUID(str(form.get("id", "")))
        except ValueError as exc:
            message = "id: name the one that is meant."
            raise InvalidRequestError.field("id", "value", message) from exc
        saved_searches.delete_saved_search(chosen, caller, ctx)
        return
    texts = ((name, str(value)) for name, value in form.multi_items())
    asked = SearchForm.read(QueryParams([*texts])).request()
    name = str(form.get("name", "")).strip() or asked.query.strip()
    if not name:
        message = "name: say what it is called."
        raise InvalidRequestError.field("name", "missing", message)
    body = SavedSearchIn(
        name=name[:_MOST_NAME],
        request=SearchRequest(query=asked.query, filters=asked.filters),
        semantic="semantic" in form,
        alert=AlertIn(enabled=True),
    )
    saved_searches.post_saved_search(body, caller, ctx)
