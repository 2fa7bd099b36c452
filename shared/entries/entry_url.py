"""The address of an entry in its own facility: what a browser may be led to."""

import re

SCHEMES = ("http", "https", "ftp", "ftps")
# Browsers leave these out before they look for a scheme: `java\tscript:` is one.
_LEFT_OUT = re.compile(r"[\x00-\x20\x7f]")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)


def is_safe(url: str) -> bool:
    """Tell whether a link is safe: it opens a page, runs nothing, or has no scheme."""
    match = _SCHEME.match(_LEFT_OUT.sub("", url))
    return match is None or match[1].lower() in SCHEMES
