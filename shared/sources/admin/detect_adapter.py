"""What an address is: every adapter that can tell is asked, and asks little."""

from dataclasses import dataclass
from typing import cast

from shared.adapter_contract.contract import Recognises, Recognition
from shared.errors import IngestionError
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter
from shared.sources.adapter_io import RealIO, hurry, make_io

# What stands this far above the others needs no question.
CLEAR_LEAD = 0.2
# Nobody else would learn more.
_OF_THE_ADDRESS = frozenset(
    {"name_unknown", "no_connection", "tls", "proxy", "no_file"}
)
# That this is another software, and nothing worse.
_OF_ONE_ADAPTER = frozenset({"refused", "unexpected_shape", None})


@dataclass(frozen=True, slots=True)
class AdapterGuess:
    """An adapter that takes the address for its own."""

    adapter: str
    title: str
    found: Recognition


@dataclass(frozen=True, slots=True)
class Tried:
    """All candidates, the likeliest first, and the adapters that were asked."""

    candidates: tuple[AdapterGuess, ...]
    asked: tuple[str, ...]
    # Why it could not be looked at, if that is so, each reason once.
    failures: tuple[IngestionError, ...]

    @property
    def winner(self) -> AdapterGuess | None:
        """Return the candidate that leads clearly, if there is one."""
        if not self.candidates:
            return None
        first, *others = self.candidates
        second = others[0].found.confidence if others else 0.0
        return first if first.found.confidence - second >= CLEAR_LEAD else None


def recognise(url: str, settings: SourceSettings, *, source: str = "new") -> Tried:
    """Ask each adapter about an address: at most three requests each.

    Whoever does not know what answers stays silent, so that why nothing answered is
    noted here; a wrong setting is raised.
    """
    candidates: list[AdapterGuess] = []
    asked: list[str] = []
    failures: dict[str, IngestionError] = {}
    hurried = hurry(settings)
    for name, title, kind in _by_name():
        asked.append(name)
        with make_io(source, hurried) as io:
            found, failure = _asked(kind, url, io)
        if found is not None:
            candidates.append(AdapterGuess(name, title, found))
        elif failure is not None and failure.reason not in _OF_ONE_ADAPTER:
            failures.setdefault(str(failure.reason), failure)
        if failure is not None and failure.reason in _OF_THE_ADDRESS:
            break
    candidates.sort(key=lambda one: (-one.found.confidence, one.adapter))
    return Tried(tuple(candidates), tuple(asked), tuple(failures.values()))


def _asked(
    kind: type[Recognises], url: str, io: RealIO
) -> tuple[Recognition | None, IngestionError | None]:
    try:
        if "://" not in url:
            # No adapter reports an unreadable folder, so it is listed here first.
            io.files.names()
        return kind.recognise(url, io), io.http.failure
    except IngestionError as exc:
        return None, exc


def _by_name() -> list[tuple[str, str, type[Recognises]]]:
    """Return the adapters that recognise addresses, each once and by its own name."""
    return [
        (name, kind.descriptor.title, cast("type[Recognises]", kind))
        for name, kind in load_adapter.adapters().items()
        if kind.descriptor.name == name and hasattr(kind, "recognise")
    ]
