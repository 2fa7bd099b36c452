"""What the tests of answers by a model ask."""

from collections.abc import Iterator

import pytest

from tests.integration.answers.test_answer_question import write_logbook
from tests.support.fixtures.asking import Asking
from tests.support.model_tier import Tier
from tests.support.stub_servers.chat_server import chatting, says


@pytest.fixture
def tier(asking: Asking) -> Iterator[Tier]:
    with chatting(says("The entries do not say.")) as server:
        write_logbook(asking)
        yield Tier(asking, server)
