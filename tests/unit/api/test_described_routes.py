"""What a handler needs is said to the router, or the handler is not served."""

from collections.abc import Callable

import jsonschema
import pytest
from fastapi.routing import APIRoute

from api.app import create_app
from api.strict_route import described, strict_router
from shared.settings.settings import Settings


@pytest.fixture
def answer() -> Callable[[], dict[str, str]]:
    return lambda: {"status": "alive"}


def test_a_handler_that_is_not_described_is_not_served(answer):
    with pytest.raises(KeyError):
        strict_router("/v1", "search").get("/open")(answer)


def test_a_handler_is_served_with_the_scope_that_it_needs(answer):
    router = strict_router("/v1", "search")
    router.get("/closed")(described("Be closed", None, 404, scope="admin")(answer))
    (route,) = router.routes
    assert isinstance(route, APIRoute)
    (needed,) = route.dependencies
    assert getattr(needed.dependency, "__name__", "") == "needs_admin"
    assert 404 in route.responses


def test_every_example_of_the_description_is_valid():
    parts = create_app(Settings()).openapi()["components"]
    shown = {
        name: schema
        for name, schema in parts["schemas"].items()
        if "examples" in schema
    }
    assert len(shown) > 9
    for schema in shown.values():
        check = jsonschema.Draft202012Validator({**schema, "components": parts})
        for example in schema["examples"]:
            check.validate(example)
