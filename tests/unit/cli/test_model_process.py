"""The process in which `logchord up` makes the embedding model."""

import subprocess
import sys
from pathlib import Path

from api.cli.stack import starting
from tests.support.commands import run_command


def made(model: str, cache: Path) -> subprocess.CompletedProcess[str]:
    return run_command(
        [sys.executable, "-c", starting._MODEL_CODE, model, str(cache)],
        cwd=Path(starting.__file__).parents[3],
    )


def test_it_makes_a_model_and_says_in_one_line_why_it_cannot(tmp_path: Path) -> None:
    assert made("hashing-8", tmp_path).returncode == 0
    failed = made("gpt-9", tmp_path)
    assert failed.returncode == 1
    (line,) = failed.stderr.splitlines()
    assert line.startswith("There is no embedding model 'gpt-9'; known: bge-small")
