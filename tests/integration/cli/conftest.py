"""What is typed where no stack runs."""

import os
from subprocess import CompletedProcess

import pytest

from tests.support.typed import typed


@pytest.fixture
def run(tmp_path):
    """`logchord source add`, with the words that follow."""
    environment = {
        "PATH": os.environ["PATH"],
        "LOGCHORD_HOME": str(tmp_path / "home"),
        # Nothing runs there.
        "LOGCHORD_URL": "http://127.0.0.1:9",
        "LOGCHORD_API_KEY": "none",
    }

    def run(*words: str, **more: str) -> CompletedProcess[str]:
        return typed(
            *("source", "add", *words), environ={**environment, **more}, folder=tmp_path
        )

    return run
