"""What is written about reaching a source is what the code does."""

import re
from pathlib import Path

import yaml

from shared.settings.source_sections import SourceSettings
from shared.sources.adapter_io import make_io

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "reach-a-source.md").read_text("utf-8")
MANNERS = (
    *("http/addresses", "http/bounded_response", "http/request", "http/connections"),
    *("http/failures", "http/paced_client", "http/pace", "http/unpack"),
    "sources/local_files",
)


def test_the_sources_of_the_page_can_be_opened(tmp_path):
    block = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    for name, written in yaml.safe_load(block[1])["sources"].items():
        with make_io(name, SourceSettings(**written)) as io:
            assert io.now().tzinfo is not None


def test_every_reason_is_explained_and_every_explained_one_is_given():
    code = "".join(
        (ROOT / "shared" / f"{name}.py").read_text("utf-8") for name in MANNERS
    )
    given = set(re.findall(r'reason="(\w+)"', code))
    given |= set(re.findall(r'return "(\w+)", "', code))
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    explained = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert {name for name in explained if not name.startswith("http_")} == given
