"""What `doctor` asks of the machine, the back-ends, the model and the processes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import httpx2
import redis

from api.cli.stack import health
from local import runner_state
from shared.embedding.models import model_folder
from shared.embedding.vectors import live_models
from shared.errors import InvalidRequestError, LogchordError
from shared.messaging import redis_clients
from shared.settings.settings import Settings
from shared.watch import channels
from shared.work import disk_room

_SECONDS = 2.0


@dataclass(frozen=True)
class Check:
    """A precondition: what was found, and what to do if it is not met."""

    name: str
    state: Literal["ok", "note", "failed"]
    found: str
    remedy: str | None = None


def of_machine(settings: Settings) -> Iterator[Check]:
    """Look at the disks."""
    for disk in disk_room.measure_disks(settings):
        found = f"{disk.free / 1e9:.1f} GB free in {disk.folder}"
        if disk.is_low:
            yield Check(f"disk of {disk.name}", "failed", found, disk.remedy)
        else:
            yield Check(f"disk of {disk.name}", "ok", found)


def of_messages(settings: Settings) -> Iterator[Check]:
    """Look whether problems can be told where an operator wants to be told of them."""
    url = settings.operations.webhook_url
    if url is None:
        return
    remedy = "Nobody is told of problems: mend operations.webhook_url and start anew."
    try:
        channels.check_address(url.get_secret_value(), settings)
    except InvalidRequestError as exc:
        yield Check("messages", "failed", exc.message, remedy)
    else:
        yield Check("messages", "ok", "an address for them is set and allowed")


def of_backends(settings: Settings) -> Iterator[Check]:
    """Look at the broker, OpenSearch and the embedding model."""
    yield _broker(settings)
    yield _opensearch(settings)
    yield _model(settings)


def of_processes(settings: Settings) -> Iterator[Check]:
    """Look at the API, Flower, the workers, and the processes of the Procfile."""
    rows = runner_state.read_children(settings.home / "run" / "runner.json")
    failing = [name for name, row in rows.items() if runner_state.is_failing(row)]
    for name in failing:
        remedy = f"Read `logchord logs {name}`."
        yield Check(f"process {name}", "failed", "dies again and again", remedy)
    lacking = health.missing(settings)
    if lacking:
        remedy = "See `logchord status`, and `logchord logs NAME` of each."
        yield Check("health", "failed", f"not well: {', '.join(lacking)}", remedy)
    else:
        yield Check("health", "ok", "API, Flower and workers answer")


def _broker(settings: Settings) -> Check:
    if settings.broker_url is None:
        remedy = "Start one with `logchord up`, or set BROKER_URL."
        return Check("broker", "failed", "no address is known", remedy)
    client = redis_clients.jobs_redis(settings, timeout_seconds=_SECONDS)
    try:
        policy = client.info("memory")["maxmemory_policy"]
    except redis.RedisError as exc:
        remedy = "Start it with `logchord up`, or correct BROKER_URL."
        return Check("broker", "failed", f"no answer ({type(exc).__name__})", remedy)
    finally:
        client.close()
    if policy == "noeviction":
        return Check("broker", "ok", "answers, maxmemory-policy noeviction")
    remedy = (
        "Set `maxmemory-policy noeviction`: an evicted key drops messages in silence."
    )
    return Check("broker", "failed", f"maxmemory-policy {policy}", remedy)


def _opensearch(settings: Settings) -> Check:
    if settings.opensearch_url is None:
        remedy = "Start it with `logchord up`, or set OPENSEARCH_URL (`off`: without)."
        return Check("OpenSearch", "failed", "no address is known", remedy)
    url = settings.opensearch_url.get_secret_value()
    if url == "off":
        return Check("OpenSearch", "note", "off; Postgres answers keyword searches")
    try:
        answer = httpx2.get(url, timeout=_SECONDS, trust_env=False).json()
        number = answer["version"]["number"]
    except (httpx2.TransportError, ValueError, KeyError, TypeError) as exc:
        remedy = "Start it with `logchord up`; until then keyword search uses Postgres."
        return Check(
            "OpenSearch", "failed", f"no answer ({type(exc).__name__})", remedy
        )
    return Check("OpenSearch", "ok", f"version {number}")


def _provider(settings: Settings, name: str) -> Check:
    # Only to be asked by whoever has named one.
    from shared.embedding.load_model import load_encoder

    providers = settings.api.providers
    try:
        encoder = load_encoder(name, settings.cache, providers).within(_SECONDS)
        found = f"{name}, whose vectors have {encoder.dimension} numbers"
    except LogchordError as exc:
        remedy = (
            f"Start it, or mend `api.providers.{name.partition(':')[0]}`; until then "
            "words alone are searched."
        )
        return Check("embedding model", "failed", f"{name}: {exc.message}", remedy)
    return Check("embedding model", "ok", found)


def _model(settings: Settings) -> Check:
    url = settings.database_url
    name = live_models.find_model_name(
        settings, None if url is None else url.get_secret_value()
    )
    if name.partition(":")[0] in settings.api.providers:
        return _provider(settings, name)
    if "/" in name or ":" in name or name.startswith("hashing"):
        return Check("embedding model", "note", f"{name}, which is not ours to check")
    manifest = model_folder.manifest_of(model_folder.folder_of(settings.cache, name))
    if manifest is None:
        remedy = (
            "`logchord up` makes it again and says what it lacks for that; so does a"
            " worker that starts."
        )
        found = f"{name} is missing or damaged in {settings.cache}"
        return Check("embedding model", "failed", found, remedy)
    graph = manifest.files[model_folder.GRAPH_FILE][:16]
    origin = manifest.source_sha256[:16]
    found = f"{name}, sha256 {graph}, made from weights with sha256 {origin}"
    return Check("embedding model", "ok", found)
