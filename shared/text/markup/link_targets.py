"""Where a link leads, said behind its words as a person would write it."""

from urllib.parse import unquote, urlsplit

_LONGEST_ADDRESS = 2000
# They lead nowhere, or are what they show.
_NO_ADDRESS = ("#", "data:", "javascript:", "about:", "blob:")


def shown_address(address: str) -> str:
    """Return an address worth showing, or nothing."""
    shown = "".join(address.split())
    if len(shown) > _LONGEST_ADDRESS or shown.lower().startswith(_NO_ADDRESS):
        return ""
    return shown


def behind(words: str, address: str) -> str:
    """Return the address to write behind a link's words; empty if the words tell it."""
    said = " ".join(words.split())
    if not address or not said:
        return address
    bare = address.partition(":")[2] if address.startswith("mailto:") else address
    short = bare.partition("://")[2]
    told = {one.rstrip("/") for one in (address, bare, short) if one}
    return "" if said.rstrip("/") in told else f" ({address})"


def linked(words: str, address: str) -> str:
    """Return a link's words and where it leads."""
    return words + behind(words, shown_address(address))


def image(name: str, address: str = "") -> str:
    """Return the text for a picture: its description, or else the name of its file."""
    shown = " ".join(name.split()) or file_name(shown_address(address))
    return f"[image: {shown}]" if shown else "[image]"


def file_name(address: str) -> str:
    """Return the file name at the end of an address; may be empty."""
    try:
        path = urlsplit(address).path
    except ValueError:
        path = address
    return unquote(path.rstrip("/").rpartition("/")[2])
