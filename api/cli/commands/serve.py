"""`logchord serve`: become one process of the Procfile."""

from __future__ import annotations

import os
import resource
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from api.cli import api_client, output

if TYPE_CHECKING:
    from fastapi import FastAPI

    from shared.settings.settings import Settings

_SERVING: dict[str, Any] = {
    "loop": "uvloop",
    # The application writes one line per request itself, with its request id.
    "log_config": None,
    "access_log": False,
    "server_header": False,
    # Who may set X-Forwarded-For is a setting, judged by the application.
    "proxy_headers": False,
    "timeout_graceful_shutdown": 10,
}
_FLOWER_TASKS_KEPT = 10_000
_CONNECTIONS = 16_384


@click.group()
def serve() -> None:
    """Run one process in the foreground, as the Procfile does."""


@serve.command()
def api() -> None:
    """Answer requests: REST, its documentation and its health checks."""
    import uvicorn

    from api.server import connection_timeouts
    from shared import interpreter
    from shared.settings.settings import load_report

    interpreter.take_short_turns()
    report = load_report(os.environ)
    for told in report.warnings:
        click.echo(f"warning: {told}", err=True)
    settings = report.settings
    _allow_connections()

    def make_app() -> FastAPI:
        with interpreter.collecting_nothing():
            from api.app import create_app

            app = create_app()
        interpreter.freeze_what_stands()
        return app

    uvicorn.run(
        make_app,
        factory=True,
        host=settings.host,
        port=settings.port,
        http=connection_timeouts.bounded(
            settings.api.head_seconds, settings.api.body_seconds
        ),
        **_SERVING,
    )


@serve.command()
@click.option("--stdio", is_flag=True, help="Serve the program that starts this one.")
def mcp(*, stdio: bool) -> None:
    """Serve agents by the Model Context Protocol, over HTTP at /mcp."""
    import asyncio
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise output.UsageError(
            "This needs the package mcp: pip install 'logchord[mcp]'. In a container,"
            " see docs/how-to/connect-an-agent.md."
        )
    from api.mcp import mcp_server

    if stdio:
        from api.mcp.rest_calls import RestCalls

        with api_client.open_client(output.current()) as client:
            rest = RestCalls.like(client)
        asyncio.run(mcp_server.serve_stdio(_settings(), rest))
        return
    import uvicorn

    from shared import interpreter

    interpreter.take_short_turns()
    settings = _settings()
    _allow_connections()
    uvicorn.run(
        mcp_server.create_mcp_app(settings),
        host=settings.host,
        port=settings.mcp.port,
        **_SERVING,
    )


@serve.command()
@click.argument("queues")
def worker(queues: str) -> NoReturn:
    """Work off QUEUES, separated by commas."""
    _become("-m", "workers.runtime.worker_kinds", queues)


@serve.command()
def upkeep() -> NoReturn:
    """Nudge what is due, finish overdue jobs; a second one stands by."""
    _become("-m", "workers.upkeep.main")


@serve.command()
def flower() -> NoReturn:
    """Show tasks and workers to operators, behind a login, on loopback."""
    settings = _settings()
    # Open without a login unless one is set; the environment keeps it out of `ps`.
    if not os.environ.get("FLOWER_BASIC_AUTH"):
        from local import secrets

        os.environ["FLOWER_BASIC_AUTH"] = secrets.of_home(settings.home).flower_login
    os.environ.setdefault("FLOWER_ADDRESS", "127.0.0.1")
    os.environ["FLOWER_PORT"] = str(settings.flower_port)
    os.environ["FLOWER_READ_ONLY"] = "true"
    os.environ.setdefault("FLOWER_MAX_TASKS", str(_FLOWER_TASKS_KEPT))
    os.environ.setdefault("FLOWER_PURGE_OFFLINE_WORKERS", "60")
    os.environ.pop("FLOWER_UNAUTHENTICATED_API", None)
    # It would list, in a terminal, what tasks there are and where it is reached.
    words = ("-A", "workers.runtime.monitor", "flower", "--logging=warning")
    _become("-m", "celery", *words)


def _allow_connections() -> None:
    """Raise the limit of open files, so that idle connections leave room for others."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS if hard == resource.RLIM_INFINITY else min(_CONNECTIONS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _settings() -> Settings:
    from shared.settings.settings import Settings

    return Settings.load(os.environ)


def _become(*arguments: str) -> NoReturn:
    """Replace this process: signals and `ps` then see the real one."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *arguments])
