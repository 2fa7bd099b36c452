"""The page of routes."""

from collections.abc import Iterator
from typing import Any

from api.app import create_app
from api.server.errors import COMMON_STATUSES
from reference_pages.markdown import as_code, page, table
from shared.settings.settings import Settings


def routes_page() -> str:
    """Return every route: what it does, what it takes, what it answers."""
    document = create_app(Settings()).openapi()
    common = ", ".join(map(str, COMMON_STATUSES))
    parts: list[str] = []
    for path, item in document["paths"].items():
        for method, route in item.items():
            if method in {"get", "post", "put", "patch", "delete"}:
                parts += _route(f"{method.upper()} {path}", route)
    return page(
        "Routes",
        "A running API shows the same at `/docs`, with every schema and an example,"
        " and as OpenAPI at `/openapi.json`. Errors have one shape, and any route may"
        f" answer {common}: see `errors.md`. What it answers beside stands below it.",
        *parts,
    )


def _route(title: str, route: dict[str, Any]) -> Iterator[str]:
    yield f"## `{title}`"
    yield f"{route.get('summary', '')}. {route.get('description', '')}".strip()
    takes = [
        (as_code(one["name"]), one["in"], one.get("description", ""))
        for one in route.get("parameters", [])
    ]
    bodies = route.get("requestBody", {}).get("content", {})
    takes += [(as_code(media), "body", "") for media in bodies]
    if takes:
        yield table(("takes", "in", ""), takes)
    yield table(
        ("answers", ""),
        (
            (status, answer["description"])
            for status, answer in sorted(route["responses"].items())
            if status not in map(str, COMMON_STATUSES)
        ),
    )
