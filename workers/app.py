"""What `celery -A workers.app worker` runs: one process of one kind."""

import importlib
import logging
import os
import socket
import warnings
from typing import Any

from celery import bootsteps, signals
from celery.platforms import SecurityWarning

from shared import interpreter
from shared import log as logs
from shared.messaging.celery_app import make_app
from shared.settings.settings import Settings
from shared.text.words import languages
from shared.version import VERSION
from shared.work import batches
from shared.work.live_processes import Identity, Reporter
from workers.runtime import memory_limits, task, worker_kinds, worker_metrics
from workers.runtime.context import Resources
from workers.runtime.ending import WorkerEnding
from workers.runtime.memory_growth import Growth
from workers.runtime.preload_models import Warm

log = logs.get_logger()

# redis-py 8 says so of celery's own use of `setex`, at every stored result.
warnings.filterwarnings("ignore", message=".*setex.*", category=DeprecationWarning)
# It warns root of what pickled messages may do; a worker of ours reads only JSON.
warnings.filterwarnings("ignore", category=SecurityWarning)

settings = Settings.load(os.environ)
kind = worker_kinds.current()
app = make_app(settings)
app.conf.worker_consumer = "workers.runtime.celery_consumer:RefusingConsumer"
if app.conf.broker_url.startswith(("redis://", "rediss://")):
    app.conf.broker_transport = "workers.runtime.celery_consumer:Transport"
resources = Resources(settings, app, kind.name)
# A file that cannot be read ends the start, not every entry and every search.
resources.facility()
with interpreter.collecting_nothing():
    for _module in task.MODULES:
        importlib.import_module(_module)
task.register(app, resources)

# Those that make vectors, of entries or of questions; `answer` compares what was found
# with the question, and the sentences of an answer.
_EMBEDDING_KINDS = frozenset({"search", "search-bulk", "answer", "embed"})
# Those that end searches, and so may read hits by a model.
_RERANKING_KINDS = frozenset({"search", "answer"})
_growth = Growth(settings.worker_memory_mb)
resources.allow = _growth.allow
_ready = Warm(resources)
_reporter: list[Reporter] = []


@signals.setup_logging.connect
def _configure_logs(**_: Any) -> None:
    logs.configure(kind.name, settings.log_level)
    # "received" and "succeeded", four lines a search: the metrics count them, and what
    # goes wrong is logged by the task base.
    for name in ("celery.worker.strategy", "celery.app.trace"):
        logging.getLogger(name).setLevel(logging.WARNING)


class Reporting(bootsteps.StartStopStep):
    """Says that this worker lives, once its pool stands, with the broker away too."""

    requires = ("celery.worker.components:Pool",)

    def start(self, parent: Any) -> None:
        """Report from the process that serves the queues, not from its children."""
        consumed = parent.app.amqp.queues.consume_from.values()
        queues = sorted(queue.name for queue in consumed)
        host = socket.gethostname()
        reporter = Reporter(
            settings.require_database_url(),
            Identity(kind.name, queues, os.getpid(), host, VERSION),
            models=_ready.look if kind.name in _EMBEDDING_KINDS else None,
        )
        reporter.start()
        _reporter.append(reporter)


app.steps["worker"].add(Reporting)


@signals.worker_ready.connect
def _on_ready(**_: Any) -> None:
    ending.watch_for_quit()
    if kind.pool == "threads":
        interpreter.freeze_what_stands()
        interpreter.take_short_turns()
        _growth.watch()
    log.info("worker_ready", metrics_port=worker_metrics.served(settings.metrics_port))


@signals.worker_init.connect
def _warm(**_: Any) -> None:
    # The first query after a start must not pay for loading the model; a thread of
    # a threads pool shares it, and a prefork parent keeps none open over the fork.
    if kind.name in _EMBEDDING_KINDS:
        _ready.begin()
    if kind.name in _RERANKING_KINDS:
        _ready.begin_reranking()
    if kind.name == "enhance":
        # A second of work: each child that is started for a dead one would pay it.
        languages.load()
    if kind.pool == "prefork":
        interpreter.freeze_what_stands()


@signals.worker_process_init.connect
def _bound_child(**_: Any) -> None:
    memory_limits.bound(settings.worker_memory_mb)


@signals.worker_shutting_down.connect
def _on_shutting_down(**_: Any) -> None:
    batches.claim_no_more()
    ending.told()


@signals.worker_shutdown.connect
def _on_shutdown(**_: Any) -> None:
    _say_farewell()


def _say_farewell() -> None:
    for reporter in _reporter:
        reporter.stop()
    resources.close()
    worker_metrics.forget()


ending = WorkerEnding(_say_farewell)
if kind.pool == "threads":
    # A thread that hangs cannot be ended alone; a child of a prefork pool can.
    resources.on_hung = ending.hung
