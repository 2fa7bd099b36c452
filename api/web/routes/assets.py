"""The stylesheet and the script: files of ours, kept by browsers until they change."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from api.strict_route import StrictRoute
from api.web import rendering

router = APIRouter(include_in_schema=False, route_class=StrictRoute)

Asset = Literal["logchord.css", "logchord.js", "icon.svg"]
_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_KEPT = {"Cache-Control": "public, max-age=31536000, immutable"}


@router.get("/static/{name}")
async def get_file(
    name: Asset, v: Annotated[str | None, Query(max_length=64)] = None
) -> Response:
    """Return a file; its address changes with its content."""
    del v
    kind = _MEDIA_TYPES[name.rpartition(".")[2]]
    return Response(rendering.file_of(name), media_type=kind, headers=_KEPT)
