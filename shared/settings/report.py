"""What an operator is told of the settings: values, origins, warnings."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from pydantic import SecretStr

from shared.settings import setting_names as names
from shared.settings.sections import Leaf, Section
from shared.settings.setting_names import Name

# Half a private network of the largest kind; what is wider is no proxy's.
_NARROW_BITS = 7


def origin_of(name: Name, origins: Mapping[Name, str]) -> str:
    """Return the layer that wrote a name, a section above it, or a part of it."""
    for written, origin in reversed(list(origins.items())):
        if name == written[: len(name)] or written == name[: len(written)]:
            return origin
    return "default"


def remarks(
    settings: Section, shipped: Section, origins: Mapping[Name, str]
) -> list[str]:
    """Return the warnings that an operator gets at every start."""
    told = []
    values = {leaf.dotted: leaf.value for leaf in settings.leaves()}
    if values["log_queries"] == "true":
        told.append("log_queries is true: logs may hold the text of queries.")
    if (header := values["people.header"]) is not None:
        told += _remarks_on_people(header, values)
    defaults = {leaf.name: leaf.value for leaf in shipped.leaves()}
    idle = [
        leaf.dotted
        for leaf in settings.leaves()
        if names.is_without_effect(leaf.dotted)
        and origin_of(leaf.name, origins) != "default"
        and (defaults.get(leaf.name) != leaf.value or _switches_on(leaf))
    ]
    if idle:
        told.append(f"Read, but nothing in this release acts on it: {', '.join(idle)}.")
    return told


def _remarks_on_people(header: str, values: Mapping[str, Any]) -> Iterator[str]:
    trusted: tuple[str, ...] = values["trusted_proxies"]
    if not trusted:
        yield f"people.header is {header}, but trusted_proxies is empty: nobody comes."
    wide = [one for one in trusted if ip_network(one).prefixlen < _NARROW_BITS]
    if wide:
        yield (
            f"trusted_proxies holds {', '.join(wide)}: whoever reaches port"
            f" {values['port']} is whom they say in {header}."
        )


def _switches_on(leaf: Leaf) -> bool:
    """Tell whether the setting switches a feature on, which its writer relies on."""
    return leaf.name[-1] == "enabled" and leaf.value is True


def mask_secrets(value: Any) -> Any:
    """Return a value as it may be printed, without its secrets."""
    if isinstance(value, SecretStr):
        return _masked(value.get_secret_value())
    if isinstance(value, Section):
        return {
            key: mask_secrets(getattr(value, key)) for key in type(value).model_fields
        }
    if isinstance(value, dict):
        return {key: mask_secrets(below) for key, below in value.items()}
    if isinstance(value, tuple):
        return [mask_secrets(part) for part in value]
    return value if isinstance(value, bool | int | float | None) else str(value)


def _masked(secret: str) -> str:
    """Return scheme and server of an address; anything else is hidden whole."""
    scheme, found, rest = secret.partition("://")
    if not found:
        return secret if secret == "off" else "***"  # noqa: S105 - no password
    # The last @ ends the login: a password may hold one, a server may not. What
    # stands behind ? may be a password, too.
    login, at, server = rest.rpartition("@")
    server, query, _ = server.partition("?")
    user = f"{login.partition(':')[0]}:***@" if at else ""
    return f"{scheme}://{user}{server}{'?***' if query else ''}"
