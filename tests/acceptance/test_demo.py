"""What whoever tries the demo is shown first."""

import re
import subprocess
import threading
import time
from pathlib import Path

import httpx2
import pytest

from local import service_user
from tests.support.fixtures.servers import Reap
from tests.support.machine import BIN, START_SECONDS, machine
from tests.support.read_page import read_page
from tests.support.waiting import until

SHOWN_WITHIN_SECONDS = 5
FEWEST_CHIPS = 3


@pytest.mark.slow
def test_a_demo_names_its_page_first_and_shows_entries_and_questions_with_answers(
    tmp_path: Path, reap: Reap
) -> None:
    one = machine(tmp_path)
    # As it comes: with its search index.
    del one.environ["OPENSEARCH_URL"]
    reap(one.home)
    printed: list[str] = []
    with subprocess.Popen(
        [str(BIN / "logchord"), "up", "--demo"],
        env=one.environ,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        reader = threading.Thread(target=printed.extend, args=(demo.stdout,))
        reader.start()
        try:
            until(
                lambda: any(line.startswith("Logchord is up") for line in printed),
                within_seconds=START_SECONDS,
                what="the demo",
            )
            named = (re.search(r"http://\S+", line) for line in printed)
            assert next(found[0] for found in named if found) == f"{one.url}/"
            with httpx2.Client(
                base_url=one.url, timeout=60, trust_env=False
            ) as reading:
                began = time.monotonic()
                page = read_page(reading.get("/").raise_for_status().text)
                assert time.monotonic() - began < SHOWN_WITHIN_SECONDS
                shifts = [*page.every("section", cls="shift")]
                assert shifts
                assert all([*shift.every("article", cls="row")] for shift in shifts)
                chips = [*page.one("p", cls="worth").every("a", cls="chip")]
                assert len(chips) >= FEWEST_CHIPS
                for chip in chips:
                    twin = chip["href"].replace("/search", "/search.json", 1)
                    told = reading.get(twin).raise_for_status().json()
                    assert told["context_answer"]["status"] == "grounded", chip.text
        finally:
            demo.terminate()
            demo.wait(START_SECONDS)
            reader.join(START_SECONDS)
    service_user.discard_home(one.home)
