"""What every test of an agent's turns needs."""

from collections.abc import Iterator

import pytest
import redis

from tests.support.agent_runner import ENTRIES, Runner
from tests.support.fixtures.asking import Asking
from tests.support.stub_servers.chat_server import ChatScript, chatting, says


@pytest.fixture
def script() -> Iterator[ChatScript]:
    with chatting(says("nothing")) as found:
        yield found


@pytest.fixture
def runner(asking: Asking, jobs_client: redis.Redis, script: ChatScript) -> Runner:
    asking.write(*ENTRIES)
    return Runner(asking, jobs_client, script)
