"""The API's documentation, shown without the internet."""

from functools import cache
from importlib import resources
from typing import Literal

from fastapi import APIRouter, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse

from api.strict_route import StrictRoute

router = APIRouter(include_in_schema=False, route_class=StrictRoute)

Asset = Literal["swagger-ui-bundle.js", "swagger-ui.css", "favicon.png"]

_MEDIA_TYPES = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon.png": "image/png",
}


@router.get("/docs")
def get_docs(request: Request) -> HTMLResponse:
    """Show every route, with a form to try each."""
    docs = request.url_for("get_docs").path
    return get_swagger_ui_html(
        openapi_url=docs.removesuffix("/docs") + "/openapi.json",
        title="Logchord API",
        swagger_js_url=f"{docs}/assets/swagger-ui-bundle.js",
        swagger_css_url=f"{docs}/assets/swagger-ui.css",
        swagger_favicon_url=f"{docs}/assets/favicon.png",
    )


@router.get("/docs/assets/{name}")
def get_asset(name: Asset) -> Response:
    """Return a part of the documentation page, kept by the browser for a day."""
    return Response(
        _asset(name),
        media_type=_MEDIA_TYPES[name],
        headers={"Cache-Control": "public, max-age=86400"},
    )


@cache
def _asset(name: Asset) -> bytes:
    # The package that carries these files ships nothing else that is used here.
    return (resources.files("fastapi_offline") / "static" / name).read_bytes()
