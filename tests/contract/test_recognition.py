"""By its address alone a logbook is told from every other: few questions, no login."""

from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.settings.source_sections import SourceSettings
from shared.sources.admin.detect_adapter import recognise
from tests.contract.stubs.elog_files import ElogFolderStub
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.stubs.feed import FeedStub
from tests.contract.stubs.jlab import JLabStub
from tests.contract.stubs.olog import OlogStub
from workers.adapters.kit.stub import Stub, StubEntry

AT = datetime(2024, 6, 10, 12, tzinfo=UTC)
MOST_REQUESTS = 3
PRODUCTS: Mapping[str, Callable[[], Stub]] = {
    "olog": OlogStub,
    "elog_http": ElogServerStub,
    "elog_files": ElogFolderStub,
    "jlab": JLabStub,
    "feed": FeedStub,
}


@pytest.mark.requirement("U27")
@pytest.mark.parametrize("product", PRODUCTS)
def test_each_product_is_told_from_the_others_by_its_address(product: str):
    with closing(PRODUCTS[product]()) as stub:
        stub.add(StubEntry(1, AT))
        given: dict[str, Any] = dict(stub.settings())
        at = {name: given[name] for name in ("base_url", "path") if name in given}
        (where,) = at.values()

        tried = recognise(where, SourceSettings.model_validate(at))

        assert tried.winner is not None, tried
        assert tried.winner.adapter == product
        assert tried.winner.found.why
        assert len(tried.asked) >= len(PRODUCTS)
        assert len(stub.requests()) <= MOST_REQUESTS * len(tried.asked)
