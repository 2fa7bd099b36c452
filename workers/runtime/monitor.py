"""What Flower loads: the broker and the names of the queues, and no task's code."""

import logging
import os
import signal

from flower import command

from shared.messaging.celery_app import make_app
from shared.settings.settings import Settings


def _end(*_: object) -> None:
    # Flower keeps nothing, and its threads wait for a broker that is away for ever:
    # Python would wait for them, after Flower has long said that it shuts down.
    os._exit(0)


# It sets this one for SIGTERM itself, once it has read its options.
command.sigterm_handler = _end
signal.signal(signal.SIGINT, _end)

# It warns of every worker that has not answered, so of each that is just starting.
logging.getLogger("flower.inspector").setLevel(logging.ERROR)

app = make_app(Settings.load(os.environ))
