"""The context that a model reads, byte for byte, and where it is cut."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.answers.prompt.context import Bounds, ContextEntry, assemble_context

ENTRY = ContextEntry(
    label="OPS-77",
    source_uri="logchord:default/api/OPS-77",
    time="2026-03-02T05:10:00+01:00",
    author="J. Ruiz",
    title="RF trip",
    content="SR RF cavity 2 tripped on arc.",
)
HEAD = "ENTRY #OPS-77 | 2026-03-02T05:10:00+01:00 | Author: J. Ruiz | RF trip\n"


@pytest.mark.requirement("S0-52", "S0-54")
def test_entries_stand_under_their_heads_with_a_line_between():
    nameless = replace(ENTRY, label="OPS-78", author="", title="", content="Reset.")
    told = assemble_context([ENTRY, nameless], Bounds())
    assert told.text == (
        f"{HEAD}SR RF cavity 2 tripped on arc."
        "\n---\n"
        "ENTRY #OPS-78 | 2026-03-02T05:10:00+01:00 | Author: unknown | untitled\n"
        "Reset."
    )
    assert told.labels == ("OPS-77", "OPS-78")
    assert not told.is_truncated


@pytest.mark.requirement("S1-28")
def test_sources_stand_under_their_numbers_with_a_blank_line_between():
    first, second = (replace(ENTRY, label=str(number)) for number in (1, 2))
    told = assemble_context([first, second], Bounds(), "source")
    block = "Source {} (logchord:default/api/OPS-77):\nSR RF cavity 2 tripped on arc."
    assert told.text == f"{block.format(1)}\n\n{block.format(2)}"


@pytest.mark.requirement("S0-53", "S0-57")
@pytest.mark.parametrize(
    ("length", "kept", "is_cut"),
    [
        (1999, "x" * 1999, False),
        (2000, "x" * 2000, False),
        (2001, "x" * 1997 + "...", True),
    ],
)
def test_the_text_of_an_entry_is_cut_with_its_dots_inside_the_bound(
    length, kept, is_cut
):
    told = assemble_context([replace(ENTRY, content="x" * length)], Bounds())
    assert told.text == HEAD + kept
    assert told.is_truncated == is_cut


@pytest.mark.requirement("S0-55", "S0-56", "S0-57", "C19")
@pytest.mark.parametrize("room", [99, 100, 101])
def test_an_entry_has_a_hundred_characters_or_none_and_nothing_follows(room):
    first = replace(ENTRY, content="x" * 500)
    second = replace(ENTRY, label="OPS-78", content="y" * 500)
    third = replace(ENTRY, label="OPS-79", content="z")
    before = len(HEAD) + 500
    separator = len("\n---\n")

    told = assemble_context(
        [first, second, third], Bounds(max_context_chars=before + separator + room)
    )

    assert told.is_truncated
    if room < 100:
        assert told.text == f"{HEAD}{'x' * 500}"
        assert told.labels == ("OPS-77",)
        return
    assert len(told.text) == before + separator + room
    assert told.text.endswith("y...")
    assert told.labels == ("OPS-77", "OPS-78")


def count_words(text: str) -> int:
    """Count tokens as a model's tokenizer would: more of them in a longer text."""
    return len(text.split())


@pytest.mark.requirement("S0-55", "C18")
@given(
    st.lists(st.text("ab \n", max_size=400), max_size=8),
    st.integers(200, 1500),
    st.integers(30, 300),
)
def test_the_bound_in_tokens_holds_beside_that_in_characters(contents, most, tokens):
    entries = [
        replace(ENTRY, label=str(n), content=text) for n, text in enumerate(contents)
    ]
    bounds = Bounds(most, 400, tokens, count_words)
    told = assemble_context(entries, bounds)
    assert count_words(told.text) <= tokens
    assert len(told.text) <= most
    plain = assemble_context(entries, Bounds(most, 400))
    assert told.is_truncated or told == plain
    # What has room by its tokens is cut no shorter than by its characters.
    assert told == plain or count_words(plain.text) > tokens


def test_as_much_of_an_entry_is_read_as_there_are_tokens_for():
    content = " ".join("ab" for _ in range(200))
    head = count_words(HEAD)
    told = assemble_context(
        [replace(ENTRY, content=content)],
        Bounds(max_context_tokens=head + 100, count_tokens=count_words),
    )
    assert told.text.startswith(HEAD)
    assert told.text.endswith("...")
    assert count_words(told.text) == head + 100


@pytest.mark.requirement("S0-55", "C18", "S0-47")
@given(
    st.lists(st.text(max_size=400), max_size=8),
    st.integers(200, 1500),
    st.integers(100, 400),
)
def test_the_bound_holds_over_all_and_the_same_entries_give_the_same_text(
    contents, most, each
):
    entries = [
        replace(ENTRY, label=str(n), content=text) for n, text in enumerate(contents)
    ]
    bounds = Bounds(most, each)
    told = assemble_context(entries, bounds)
    assert len(told.text) <= most
    assert told == assemble_context(entries, bounds)
    assert told.labels == tuple(str(n) for n in range(len(told.labels)))
    assert told.is_truncated or len(told.labels) == len(entries)
