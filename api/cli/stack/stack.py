"""`logchord up` and `down`: the whole system on this machine."""

import os

import click

from api.cli import output
from api.cli.output import CommandError
from local import service_user
from local.place import ServerError
from shared.settings.setting_names import environment_name
from shared.settings.settings import Settings


@click.command()
@click.option("--detach", is_flag=True, help="Return once it is up.")
@click.option("--demo", is_flag=True, help="Load a sample logbook; ask for no key.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the API.")
@click.option("--no-echo", is_flag=True, hidden=True)
def up(*, detach: bool, demo: bool, port: int | None, no_echo: bool) -> int:
    """Start what the environment does not provide, and the Procfile's processes."""
    out = output.current()
    environ = dict(os.environ)
    if port is not None:
        environ[environment_name("port")] = str(port)
    settings = Settings.load(environ, with_stack=False)
    environ[environment_name("home")] = str(settings.home.absolute())
    environ[environment_name("cache")] = str(settings.cache.absolute())
    try:
        service_user.refuse_home_of_others(settings.home)
        if detach:
            from api.cli.stack import detached

            return detached.start(out, settings.home.absolute(), environ, demo=demo)
        from api.cli.stack.starting import Start

        return Start(out, environ, demo=demo, echo=not no_echo).run()
    except ServerError as exc:
        raise CommandError(str(exc)) from exc


@click.command()
def down() -> int:
    """Stop the stack of this home, processes first, then its servers."""
    from api.cli.stack import detached

    out = output.current()
    try:
        return detached.stop(out, Settings.load(os.environ, with_stack=False))
    except ServerError as exc:
        raise CommandError(str(exc)) from exc
