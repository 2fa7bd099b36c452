"""How many messages a worker has refused, by its own figures."""

import re

import httpx2

from tests.support.fixtures.system import TRUSTED, System

_PORT = re.compile(r'"metrics_port": (\d+)')
_REFUSED = re.compile(
    r'^logchord_messages_refused_total\{queue="([^"]*)"\} ([\d.e+]+)$', re.MULTILINE
)


def count_refused(system: System, name: str) -> dict[str, int]:
    """Return how many messages of each queue a worker has refused since its start."""
    *_, port = _PORT.findall(system.tail(name, 100_000))
    told = httpx2.get(
        f"http://127.0.0.1:{port}/metrics", timeout=5, verify=TRUSTED
    ).text
    return {queue: int(float(times)) for queue, times in _REFUSED.findall(told)}
