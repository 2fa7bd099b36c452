"""The version of this release, said once in pyproject.toml."""

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("logchord")
    except PackageNotFoundError:
        return "0.0.0+source"


VERSION = _installed()
