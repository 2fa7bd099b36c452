"""The API's description: what the framework finds out, and what only settings know."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from api.server.errors import ErrorBody
from shared.settings.settings import Settings

_SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "`lk_<key id>_<secret>`, made by `logchord keys create`.",
    },
    "api_key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
_EITHER: list[dict[str, list[str]]] = [{"bearer": []}, {"api_key": []}]
_METHODS = frozenset({"get", "post", "put", "patch", "delete"})


def describe(app: FastAPI, settings: Settings) -> None:
    """Make the application answer with the whole description, built once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _built(app, settings)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # as the framework advises


def _built(app: FastAPI, settings: Settings) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
    )
    parts = document["components"]
    parts["securitySchemes"] = _SCHEMES
    schemas = parts["schemas"]
    _, errors = models_json_schema(
        [(ErrorBody, "serialization")], ref_template="#/components/schemas/{model}"
    )
    schemas |= errors["$defs"]
    for schema in schemas.values():
        for example in schema.get("examples", ()):
            # The framework leaves out what is null.
            example |= {one: example.get(one) for one in schema.get("required", ())}
        for field in schema.get("properties", {}).values():
            if "description" in field:
                # Told below a field it has lines.
                field["description"] = " ".join(field["description"].split())
    _tell_limits(schemas["EntryIn"]["properties"], settings)
    entries = schemas["EntriesIn"]["properties"]["entries"]
    entries["maxItems"] = settings.max_batch_entries
    for path, methods in document["paths"].items():
        if path.removeprefix(settings.base_path).startswith(("/v1/", "/e/")):
            for method in _METHODS & methods.keys():
                # Who is known by a signature says so itself.
                methods[method].setdefault("security", _EITHER)
    return document


def _tell_limits(fields: dict[str, Any], settings: Settings) -> None:
    """Write the limits in force into the schema of an entry."""
    fields["source"]["enum"] = sorted(settings.sources)
    fields["external_id"]["anyOf"][0]["maxLength"] = settings.max_external_id_chars
    fields["title"]["maxLength"] = settings.max_title_chars
    fields["tags"]["maxItems"] = settings.max_tags
    fields["metadata"]["maxProperties"] = settings.max_metadata_keys
