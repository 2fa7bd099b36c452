"""The texts within a JSON value, changed one by one: never in what was dumped of it."""

from collections.abc import Callable, Mapping
from typing import Any


def change_texts(
    value: Any, change: Callable[[str], str], *, keys: bool = False
) -> Any:
    """Return a value with each of its texts changed; its keys, too, where wanted."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {
            change(key) if keys else key: change_texts(one, change, keys=keys)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [change_texts(one, change, keys=keys) for one in value]
    return value
