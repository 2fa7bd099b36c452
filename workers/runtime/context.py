"""What a task is given: pools, clients and settings of its process."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from psycopg import Connection

from shared.access.cursors import Signer
from shared.access.installation_secret import installation_secret
from shared.embedding import load_model
from shared.embedding.load_model import load_encoder
from shared.embedding.models.encoder_contract import CrossEncoder, Encoder
from shared.messaging import redis_clients, stage_names
from shared.messaging.broker_clock import BrokerClock
from shared.messaging.nudges import Nudger
from shared.opensearch.client import make_client
from shared.postgres.pool import Pool, connection, make_pool
from shared.search.retrieval.search_context import SearchContext, make_search_context
from shared.settings.settings import Settings
from shared.sources.current_settings import CurrentSettings
from shared.text.facility.facility import Facility
from shared.text.facility.facility import load as load_facility
from shared.vocabulary.learn_words import SeenWords
from shared.work.batches import GivesWay, claim_batches
from shared.work.due_work import Claim
from shared.work.leases import Timing

T = TypeVar("T")

# Due work waits for a database that is just being started: shorter than a lease holds,
# so that a batch in hand goes on where it was. Whoever asks a question cannot wait.
_OUTLAST_SECONDS = 8.0
_WAIT_SECONDS = {"search": 2.0, "search-bulk": 2.0, "answer": 2.0}

if TYPE_CHECKING:
    import redis
    from celery import Celery
    from opensearchpy import OpenSearch


class Resources:
    """Clients of one worker process, each opened at its first use, after the fork."""

    def __init__(self, settings: Settings, app: Celery, kind: str) -> None:
        self.settings = settings
        self.app = app
        self.kind = kind
        # What ends this process when a thread of its pool hangs for good.
        self.on_hung: Callable[[], None] | None = None
        # What does not take the memory of a model for growth.
        self.allow: Callable[[], AbstractContextManager[None]] = nullcontext
        self._lock = threading.RLock()
        self._made: dict[str, Any] = {}

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Make a client once per process, whichever thread asks first."""
        made: T | None = self._made.get(name)
        if made is None:
            with self._lock:
                made = self._made.get(name)
                if made is None:
                    made = self._made[name] = make()
        return made

    def model(self, name: str, make: Callable[[], T]) -> T:
        """Make a model once per process; it is as large as it is."""

        def make_allowed() -> T:
            with self.allow():
                return make()

        return self.once(name, make_allowed)

    def facility(self) -> Facility:
        """Return the facility's own words, as its file has them."""
        path = self.settings.analyser.facility_file
        zone = self.settings.facility_timezone
        return self.once("facility", functools.partial(load_facility, path, zone))

    def close(self) -> None:
        """Publish what waits and let go of every connection."""
        with self._lock:
            made, self._made = self._made, {}
        if nudger := made.get("nudger"):
            nudger.stop()
        if pool := made.get("pool"):
            pool.close()
        if client := made.get("redis"):
            client.close()
        [engine] = made.get("opensearch", (None,))
        if engine is not None:
            engine.close()


class Context:
    """The resources, and the headers of the message at hand."""

    def __init__(self, resources: Resources, headers: Mapping[str, Any]) -> None:
        self._resources = resources
        self.headers = headers

    @property
    def settings(self) -> Settings:
        """The settings of this process."""
        return self._resources.settings

    @property
    def app(self) -> Celery:
        """The Celery application, to publish by name."""
        return self._resources.app

    @property
    def pool(self) -> Pool:
        """The process's Postgres pool."""
        resources = self._resources

        def make() -> Pool:
            return make_pool(
                resources.settings.require_database_url(),
                application=f"worker {resources.kind}",
                size=resources.settings.database_pool_size,
                read_only=resources.settings.read_only,
                wait_seconds=_WAIT_SECONDS.get(resources.kind, _OUTLAST_SECONDS),
            )

        return resources.once("pool", make)

    def current_settings(self, conn: Connection) -> Settings:
        """Return the settings with every source as it is by now."""
        make = functools.partial(CurrentSettings, self.settings)
        return self._resources.once("current_settings", make).read(conn)

    @property
    def redis(self) -> redis.Redis:
        """The client of searches in flight."""
        make = functools.partial(redis_clients.jobs_redis, self.settings)
        return self._resources.once("redis", make)

    @property
    def clock(self) -> BrokerClock:
        """The broker's time, by which deadlines are judged."""
        client = self.redis
        return self._resources.once("clock", lambda: BrokerClock(client))

    @property
    def known(self) -> SeenWords:
        """The words and names that this process knows the vocabulary to have."""
        return self._resources.once("known", SeenWords)

    @property
    def opensearch(self) -> OpenSearch | None:
        """The OpenSearch client, or None where the system runs on Postgres alone."""
        make = functools.partial(make_client, self.settings)
        return self._resources.once("opensearch", lambda: (make(),))[0]

    def encoder(self, model: str) -> Encoder:
        """Return an embedding model; the first caller of a process loads it."""
        settings = self.settings
        providers = settings.api.providers
        make = functools.partial(load_encoder, model, settings.cache, providers)
        return self._resources.model(f"encoder:{model}", make)

    @property
    def cross_encoder(self) -> CrossEncoder:
        """Return the model that reranks; the first caller loads it."""
        settings = self.settings
        make = functools.partial(
            load_model.load_cross_encoder,
            settings.reranking,
            settings.api.providers,
            settings.cache,
        )
        return self._resources.model("cross_encoder", make)

    @property
    def facility(self) -> Facility:
        """Return the facility's own words, as its file has them."""
        return self._resources.facility()

    def signer(self) -> Signer:
        """Return the signer of cursors; the API accepts what it signs."""

        def make() -> Signer:
            with connection(self.pool) as conn:
                secret = installation_secret(conn)
            return Signer(secret, self.settings.cursor_ttl_minutes * 60)

        return self._resources.once("signer", make)

    @property
    def search_context(self) -> SearchContext:
        """Return the context in which this process searches and answers."""

        def make() -> SearchContext:
            return make_search_context(
                self.settings,
                pool=self.pool,
                now=self.clock.now,
                signer=self.signer,
                facility=self.facility,
                opensearch=lambda: self.opensearch,
                encoder=self.encoder,
                cross_encoder=lambda: self.cross_encoder,
            )

        return self._resources.once("search_context", make)

    def nudge(self, stage: str, entry_ids: Sequence[UUID]) -> None:
        """Queue a nudge for a thread to send; never blocks, and may be lost."""
        self._nudger.nudge(stage, entry_ids)

    @property
    def _nudger(self) -> Nudger:
        return self._resources.once("nudger", lambda: Nudger(self.app))

    def kept(self, name: str, make: Callable[[], T]) -> T:
        """Return an object kept under a name as long as the process lives."""
        return self._resources.once(f"kept:{name}", make)

    @property
    def timing(self) -> Timing:
        """Return a lease's length, its renewal interval and its hard limit."""
        work = self.settings.work
        return Timing(
            work.lease_seconds, work.lease_renew_seconds, work.task_hard_seconds
        )

    def batches(
        self,
        stage: str,
        entry_ids: Sequence[UUID],
        *,
        limit: int,
        most: int | None = None,
        gives_way: bool = False,
    ) -> Iterator[list[Claim]]:
        """Yield batches of due work, as long and as surely ours as settings say.

        A stage that entries are found without gives way to those they are found by, and
        comes back behind them: left to the sweep, what makes such work itself, as the
        search for copies does, would get on by a batch a second. Only what names no
        entries does: of such nudges there are a few, and none is added by coming back.
        """
        again = None if entry_ids else functools.partial(self._nudger.again, stage)
        way = GivesWay(stage_names.FOUND_BY, again) if gives_way else None
        return claim_batches(
            self.pool,
            stage,
            entry_ids,
            limit=limit,
            most=most,
            gives_way=way,
            timing=self.timing,
            on_hung=self._resources.on_hung,
        )

    def checkpoint(self, name: str, *entry_ids: UUID) -> None:
        """Do nothing; experiments put a fault at these named points."""
