"""What the pages show in `console` blocks is typed into a real system, as shown."""

import re
import secrets
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from local import sample
from tests.support.fixtures.system import System
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "docs" / "quickstart.md", *(ROOT / "docs" / "how-to").glob("*.md")]
)
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HERE_DOCUMENT = re.compile(r"<<'(\w+)'")
_ENTRY = re.compile(rf"\b({'|'.join(sample.SOURCES)})/([A-Z]+-\d+)\b")

pytestmark = pytest.mark.skipif(
    shutil.which("curl") is None, reason="the pages show requests with curl"
)


class Block(NamedTuple):
    """Commands as they are typed, and the lines that they print."""

    script: str
    shown: list[str]

    @property
    def only_searches(self) -> bool:
        """Whether it may be typed again until what was written can be found."""
        return self.script.startswith("logchord search")


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in its order."""
    return [read(body) for body in _BLOCK.findall(page.read_text("utf-8"))]


def read(body: str) -> Block:
    """Tell what is typed from what is printed."""
    typed: list[str] = []
    shown: list[str] = []
    ends_with = None
    for line in body.splitlines():
        if ends_with is not None:
            typed.append(line)
            ends_with = None if line == ends_with else ends_with
        elif line.startswith("$ "):
            typed.append(line.removeprefix("$ "))
            here = _HERE_DOCUMENT.search(line)
            ends_with = here[1] if here else None
        elif typed[-1].endswith(("\\", "|")):
            typed.append(line)
        elif line != "...":
            shown.append(line)
    return Block("\n".join(typed), shown)


@pytest.fixture(scope="module")
def environment(running: System) -> dict[str, str]:
    """The variables of somebody who follows the pages, in a facility of their own."""
    tenant = f"t{secrets.token_hex(4)}"
    key = running.key(tenant=tenant, scopes=("admin",))
    pages = "\n".join(page.read_text("utf-8") for page in PAGES)
    wanted = {match.groups() for match in _ENTRY.finditer(pages)}
    entries = [
        entry
        for page in sample.pages()
        for entry in page
        if (entry["source"], entry["external_id"]) in wanted
    ]
    assert len(entries) >= 4
    with running.client(key) as client:
        answer = client.post(
            "/v1/entries?wait_for=index&wait_ms=30000", json={"entries": entries}
        )
        assert answer.json()["counts"]["rejected"] == 0, answer.text
        assert answer.json()["indexed"] is True
    return {
        **running.environment,
        "LOGCHORD_URL": running.url,
        "LOGCHORD_API_KEY": key,
        "NO_COLOR": "1",
    }


def type_in(block: Block, folder: Path, environment: dict[str, str]) -> str:
    """Type the commands into a shell and return what they print."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, f"{block.script}\n{done.stdout}"
    return done.stdout


def missing(block: Block, printed: str) -> list[str]:
    """Return the lines that the page shows and the commands did not print."""
    patterns = {
        line: re.compile(re.escape(line).replace(r"\.\.\.", ".*"), re.MULTILINE)
        for line in block.shown
    }
    return [line for line, one in patterns.items() if not one.search(printed)]


def follow(block: Block, folder: Path, environment: dict[str, str]) -> None:
    """Type a block and compare; a search may need a moment to find what is new."""
    printed = ""

    def as_shown() -> bool:
        nonlocal printed
        printed = type_in(block, folder, environment)
        return not missing(block, printed)

    try:
        until(as_shown, within_seconds=30 if block.only_searches else 0)
    except AssertionError as exc:
        lines = "\n".join(missing(block, printed))
        message = f"{block.script}\ndid not print\n{lines}\nbut\n{printed}"
        raise AssertionError(message) from exc


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if blocks(page)],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_a_page_shows_what_really_happens(page, environment, tmp_path):
    for block in blocks(page):
        follow(block, tmp_path, environment)
