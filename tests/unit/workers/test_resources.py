"""A worker that ends lets go of what it has opened, and of nothing that it has not."""

from shared.messaging.celery_app import make_app
from shared.settings.settings import Settings
from workers.runtime.context import Context, Resources

NOWHERE = {"BROKER_URL": "redis://127.0.0.1:1/0"}


def made(**more: str) -> tuple[Resources, Context]:
    settings = Settings.load({**NOWHERE, **more})
    resources = Resources(settings, make_app(settings), "test")
    return resources, Context(resources, {})


def test_clients_of_redis_and_opensearch_are_closed_with_the_pool() -> None:
    resources, ctx = made(OPENSEARCH_URL="http://127.0.0.1:1")
    engine, client = ctx.opensearch, ctx.redis
    assert engine is not None
    links = engine.transport.get_connection().pool
    ended: list[bool] = []
    client.connection_pool.disconnect = lambda: ended.append(True)  # type: ignore[assignment]
    assert links.pool is not None

    resources.close()

    assert links.pool is None
    assert ended == [True]
    assert ctx.opensearch is not engine


def test_a_worker_without_opensearch_that_was_asked_nothing_ends_too() -> None:
    resources, ctx = made(OPENSEARCH_URL="off")
    resources.close()
    assert ctx.opensearch is None
    resources.close()
