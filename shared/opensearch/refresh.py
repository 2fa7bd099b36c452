"""Make what was written findable now, for a caller who waits for just that."""

from __future__ import annotations

from opensearchpy import OpenSearch

from shared.opensearch.client import TIMEOUT_SECONDS, translate_engine_errors
from shared.opensearch.mapping import read_alias


def refresh(client: OpenSearch, base: str, seconds: float = TIMEOUT_SECONDS) -> None:
    """Make indexed documents searchable without waiting for the interval."""
    with translate_engine_errors():
        client.indices.refresh(
            index=read_alias(base), params={"request_timeout": seconds}
        )
