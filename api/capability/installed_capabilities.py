"""The capabilities that are installed: ours and other packages', by their names."""

from collections.abc import Mapping

from api.capability.orchestration import Capability
from shared import plugins
from shared.errors import ConfigurationError


def find_capabilities() -> Mapping[str, type[Capability]]:
    """Return every installed capability; one that is none is refused."""
    found: dict[str, type[Capability]] = {}
    for name, point in sorted(plugins.points(plugins.CAPABILITIES).items()):
        loaded = point.load()
        if not (isinstance(loaded, type) and issubclass(loaded, Capability)):
            message = f"{point.value} is not a capability."
            raise ConfigurationError(message, config_key=f"capabilities.{name}")
        found[name] = loaded
    return found
