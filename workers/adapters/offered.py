"""A method that an adapter has only where the settings of its source allow it."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
T = TypeVar("T")


class Offered(Generic[P, T]):
    """Found in the class by everyone, and in an instance if its settings have it."""

    def __init__(
        self, method: Callable[..., T], is_offered: Callable[[Any], bool]
    ) -> None:
        self._method = method
        self._is_offered = is_offered
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[..., T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[P, T]: ...
    def __get__(self, instance: object | None, owner: type) -> Callable[..., T]:
        """Return the method, or be no attribute at all."""
        if instance is None:
            return self._method
        if not self._is_offered(instance):
            message = f"this {owner.__name__} has no {self._method.__name__}"
            raise AttributeError(message)
        return MethodType(self._method, instance)


def offered(
    is_offered: Callable[[Any], bool],
) -> Callable[[Callable[..., T]], Offered[..., T]]:
    """Let a method be there only where this says so of its instance."""
    return lambda method: Offered(method, is_offered)
