"""The Python client: Logchord from a program that has none of the server installed.

It is built as a distribution of its own, `logchord-client`, from the folder `client/`,
and imported there as `logchord_client`.
"""

from api.client.asynchronous.client import AsyncClient
from api.client.asynchronous.jobs import AsyncJob
from api.client.error_answers import UnreachableError
from api.client.event_lines import Event
from api.client.synchronous.client import Client
from api.client.synchronous.jobs import Job
from shared.errors import LogchordError

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "Client",
    "Event",
    "Job",
    "LogchordError",
    "UnreachableError",
]
