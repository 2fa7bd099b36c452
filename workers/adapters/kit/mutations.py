"""Payloads as a broken or hostile source might send them, made by hypothesis."""

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

MAX_CHANGES = 4
# Deeper than any source nests, and less than Python's own limit from a test.
_DEEP = 300
_ODD_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, float("nan"), float("inf"), 10**30, "", " ", "x", "0",
    "\x00", "\ud800", "9999-12-31T23:59:59Z", "not a time", [], {}, [None], [[]],
    {"": None}, ["x", 1, None], {"content": 5},
)  # fmt: skip
_ODD_BYTES: tuple[bytes, ...] = (
    b"", b"\x00", b"\xff\xfe", b"\xc3", b'"', b"'", b"\\", b"\r\n", b"\n", b"<", b"]]>",
    b"&#x0;", b"&amp;", b"<!DOCTYPE x [<!ENTITY e 'x'>]>", b"=" * 40, b":", b",", b"[",
    b"{", b"}", b"$@MID@$: ",
)  # fmt: skip

Path = tuple[str | int, ...]


def spoilt(payload: Any) -> st.SearchStrategy[Any]:
    """Return payloads like this one, dropped, retyped, truncated and nested."""
    if isinstance(payload, bytes | bytearray):
        return _spoilt_bytes(bytes(payload))
    if isinstance(payload, str):
        return _spoilt_bytes(payload.encode()).map(lambda one: one.decode("latin-1"))
    return _spoilt_json(payload)


@st.composite
def _spoilt_json(draw: st.DrawFn, payload: Any) -> Any:
    made = copy.deepcopy(payload)
    for _ in range(draw(st.integers(1, MAX_CHANGES))):
        places = [place for place in _places(made) if place]
        if not places or draw(st.integers(0, 30)) == 0:
            return draw(st.sampled_from(_ODD_VALUES))
        place = draw(st.sampled_from(places))
        change = draw(st.sampled_from((_drop, _retype, _truncate, _nest)))
        change(draw, made, place)
    return made


def _places(value: Any, above: Path = ()) -> list[Path]:
    found: list[Path] = [above]
    if len(above) > MAX_CHANGES:
        # What a change has nested is not entered again.
        return found
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value[:20]))
    for key, one in inner:
        found += _places(one, (*above, key))
    return found


def _inside(made: Any, place: Path) -> tuple[Any, Any]:
    for key in place[:-1]:
        made = made[key]
    return made, place[-1]


def _drop(_: st.DrawFn, made: Any, place: Path) -> None:
    holder, key = _inside(made, place)
    del holder[key]


def _retype(draw: st.DrawFn, made: Any, place: Path) -> None:
    holder, key = _inside(made, place)
    # A copy, for a later change may be one within it.
    holder[key] = copy.deepcopy(draw(st.sampled_from(_ODD_VALUES)))


def _truncate(draw: st.DrawFn, made: Any, place: Path) -> None:
    holder, key = _inside(made, place)
    value = holder[key]
    if isinstance(value, str | list) and value:
        holder[key] = value[: draw(st.integers(0, len(value) - 1))]
    else:
        holder[key] = str(value)


def _nest(draw: st.DrawFn, made: Any, place: Path) -> None:
    holder, key = _inside(made, place)
    wrap: Callable[[Any], Any] = draw(
        st.sampled_from((lambda one: [one], lambda one: {"a": one}))
    )
    for _ in range(draw(st.sampled_from((1, 2, _DEEP)))):
        holder[key] = wrap(holder[key])


@st.composite
def _spoilt_bytes(draw: st.DrawFn, payload: bytes) -> bytes:
    for _ in range(draw(st.integers(1, MAX_CHANGES))):
        start = draw(st.integers(0, len(payload)))
        end = min(len(payload), start + draw(st.integers(0, 60)))
        junk = draw(st.sampled_from(_ODD_BYTES) | st.binary(max_size=20))
        payload = draw(
            st.sampled_from(
                (
                    payload[:start],
                    payload[:start] + payload[end:],
                    payload[:start] + junk + payload[end:],
                    payload[:start] + payload[start:end] * 2 + payload[end:],
                )
            )
        )
    return payload
