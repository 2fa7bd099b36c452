"""Which attached file a picture in the text is."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit
from uuid import UUID

from shared.entries.saving.attachment_rows import Attached
from shared.text.markup import pictures


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture in the text, by its address there, and the file that it is."""

    address: str
    attachment_id: UUID


@dataclass(frozen=True, slots=True)
class _ImageReference:
    host: str
    # Without what makes one picture small or another fresh.
    path: str

    @property
    def parts(self) -> list[str]:
        return [part for part in self.path.split("/") if part not in {"", ".", ".."}]


def find_inline_images(
    text: str, text_format: str, attached: Sequence[Attached]
) -> list[Shown]:
    """Return the pictures of a text that are attached to it, in its order."""
    if not attached:
        return []
    found = []
    for address in pictures.addresses(text, text_format):
        file = _named(address, attached)
        if file is not None:
            found.append(Shown(address, file.id))
    return found


def _named(address: str, attached: Sequence[Attached]) -> Attached | None:
    """Return the file of an address: the same, one below the same path, or its name."""
    place = _place(address)
    if place is None or not place.parts:
        return None
    for is_it in (_has_address, _has_id):
        for file in attached:
            if is_it(file, place):
                return file
    if place.host:
        # Elsewhere a file of this name is another one.
        return None
    named = [file for file in attached if file.filename == place.parts[-1]]
    return named[0] if len(named) == 1 else None


def _has_address(file: Attached, place: _ImageReference) -> bool:
    own = _place(file.url or "")
    if own is None or not own.parts:
        return False
    if place.host:
        return (place.host, place.parts) == (own.host, own.parts)
    return len(place.parts) > 1 and own.parts[-len(place.parts) :] == place.parts


def _has_id(file: Attached, place: _ImageReference) -> bool:
    """Tell whether the source calls it so; ELOG's `/` behind the seconds is `_`."""
    if place.host:
        return False
    own = file.external_id.rpartition("/")[2]
    return own in {place.parts[-1], "_".join(place.parts[-2:])}


def _place(address: str) -> _ImageReference | None:
    try:
        split = urlsplit(address)
    except ValueError:
        return None
    if split.scheme not in {"", "http", "https"}:
        return None
    return _ImageReference(split.netloc.lower(), unquote(split.path))
