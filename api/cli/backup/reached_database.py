"""The database of this installation, whether its stack runs or not."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from api.cli.output import CommandError
from api.cli.stack.progress import Steps
from local import service_user, stack
from local.place import ServerError, StackFolders
from local.stack import OFF, Given, Stack
from shared.errors import DatabaseConnectionError
from shared.settings.settings import Settings


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings, with the servers of this home only while they run."""
    settings = Settings.load(environ, with_stack=False)
    if stack.running_pid(settings.home) is None:
        return settings
    return Settings.load(environ)


@contextmanager
def reach_database(
    steps: Steps, settings: Settings, *, makes: bool = False
) -> Iterator[str]:
    """Give the address of the database; one of a stack at rest is woken meanwhile.

    One that was never made is made where it is to be filled.
    """
    try:
        if settings.database_url is not None:
            yield settings.database_url.get_secret_value()
            return
        with _woken(steps, settings, makes=makes) as url:
            yield url
    except ServerError as exc:
        raise CommandError(str(exc)) from exc
    except DatabaseConnectionError as exc:
        # Its own sentence is for whoever knows neither name nor password of it.
        reason = " ".join((exc.technical or exc.message).split())
        raise CommandError(f"The database cannot be used: {reason}") from exc


@contextmanager
def _woken(steps: Steps, settings: Settings, *, makes: bool) -> Iterator[str]:
    home = settings.home.absolute()
    service_user.refuse_home_of_others(home)
    if not makes and not (home / "run" / "secrets.json").exists():
        settings.require_database_url()
    ours = Stack(StackFolders(home, settings.cache.absolute()), steps)
    # No `up` begins meanwhile.
    ours.open()
    try:
        # Postgres alone: to the others nothing is said.
        given = Given(broker_url=OFF, opensearch_url=OFF)
        yield ours.start_servers(given).database_url
    finally:
        ours.close()
