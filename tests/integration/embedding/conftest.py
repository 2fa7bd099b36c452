"""An endpoint of vectors that does as it is told, and workers that ask it."""

from collections.abc import Iterator

import pytest

from tests.support.fixtures.workers import MakeContext
from tests.support.stub_servers.embedding_server import Script, serving
from workers.runtime.context import Context


@pytest.fixture
def server() -> Iterator[Script]:
    with serving() as script:
        yield script


@pytest.fixture
def make_english_context(make_context: MakeContext, server: Script) -> MakeContext:
    """Makes a worker's context whose model speaks English, unless settings differ."""
    spoken = {
        "EMBEDDING_MODEL": "tiny",
        "LOGCHORD_SEARCH_MODULES__SEMANTIC__PROVIDER": "here",
        "LOGCHORD_API__PROVIDERS__HERE__BASE_URL": server.url,
        "LOGCHORD_API__PROVIDERS__HERE__EMBEDDING_LANGUAGES": '["en"]',
    }
    return lambda kind=Context, **given: make_context(kind, **{**spoken, **given})
