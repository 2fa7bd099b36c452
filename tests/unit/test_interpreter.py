"""How Python runs the product's processes."""

import gc

import pytest

from shared import interpreter


def test_rubbish_is_looked_for_again_behind_an_import_that_fails():
    @interpreter.collecting_nothing()
    def fail() -> None:
        assert not gc.isenabled()
        raise ImportError

    with pytest.raises(ImportError):
        fail()
    assert gc.isenabled()
