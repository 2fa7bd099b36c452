"""What people are told of the gate that kept an entry out."""

import pytest

from shared.search.absence import gates

NAMED = [vars(gates)[name] for name in dir(gates) if name[0] != "_" and name.isupper()]


@pytest.mark.parametrize("gate", NAMED)
def test_each_gate_has_words_of_its_own(gate):
    assert "kept out" not in gates.say_gate(gate)


def test_a_filter_and_a_gate_of_a_newer_server_are_named():
    assert gates.say_gate(gates.of_filter("author")) == "kept out by the filter author"
    assert gates.say_gate("beyond_reach") == "kept out by beyond_reach"
