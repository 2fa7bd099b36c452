"""Texts without the secrets that they may hold, for logs and answers."""

import re

# scheme://user:secret@host up to its last @ (a password may hold one). A word is
# looked at once and what follows is never given back: users choose these texts, and
# 60 kB of one word, tried at every letter, would hold up the process for 20 s.
_LOGINS = re.compile(r"(?<!\w)(?P<dsn>\w++://[^\s@/:\"']*+:)(?P<rest>[^\s\"']++)")
# name=value, our own keys, keys of providers, and the two common Authorization headers.
_SECRETS = re.compile(
    r"\blk_\w+_[\w-]+"
    r"|\bsk-[\w-]{8,}"
    r"|(?P<name>(?:passw(?:or)?d|secret|api[_-]?key|token)['\"]?\s*[=:]\s*)"
    r"(?:'[^']*'|\"[^\"]*\"|[^\s,;&}]+)"
    r"|(?P<header>\bBearer\s+|authorization['\"]?\s*[=:]\s*['\"]?basic\s+)"
    r"[\w.~+/=-]+",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """Return the text without passwords, keys and tokens."""

    def without_login(match: re.Match[str]) -> str:
        _, at, server = match["rest"].rpartition("@")
        return f"{match['dsn']}***@{server}" if at else match[0]

    def masked(match: re.Match[str]) -> str:
        return f"{match['name'] or match['header'] or ''}***"

    return _SECRETS.sub(masked, _LOGINS.sub(without_login, text))
