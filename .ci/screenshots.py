"""Show eight views of the page in both themes and two widths, on a demo of its own.

Where a Chromium is missing, nothing is made. All go to `test-results/screenshots`, two
of them also to `docs/images`, for the README.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import httpx2
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "test-results" / "screenshots"
SHOWN = ROOT / "docs" / "images"
PORT = 8196
VIEWS = {
    "home": "/",
    "answer": "/search?q=why+did+RF+cavity+2+trip",
    "panes": "/search?q=why+did+RF+cavity+2+trip&open=operations/OPS-20420",
    "empty": "/search?q=zyzzyva&mode=keyword",
    "entry": "/e/operations/OPS-20420?q=RF",
    "live": "/live",
    "digest": "/digest?since=2026-04-17",
    "status": "/status",
}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (1280, 360)
# These stand in the README.
IN_README = {("panes", "light", 1280): "search.png", ("home", "dark", 1280): "home.png"}
_README_WIDTH = 1000
_READ_WITHIN_SECONDS = 600


def main() -> int:
    """Make every picture, and say where they lie."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        print(
            "screenshots: no Chromium here; `apt-get install chromium`", file=sys.stderr
        )
        return 1
    address = sys.argv[1] if len(sys.argv) > 1 else None
    FOLDER.mkdir(parents=True, exist_ok=True)
    SHOWN.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        if address:
            show_all(browser, address)
        else:
            with demo() as url:
                show_all(browser, url)
        browser.close()
    print(f"{len(VIEWS) * len(THEMES) * len(WIDTHS)} pictures in {FOLDER}")
    return 0


@contextmanager
def demo() -> Iterator[str]:
    """Run a demo with a home and a port of its own, and take it down again."""
    with tempfile.TemporaryDirectory(prefix="logchord-shots-") as home:
        environment = {**os.environ, "LOGCHORD_HOME": home, "FLOWER_PORT": "5596"}
        logchord = str(ROOT / ".venv" / "bin" / "logchord")
        up = [logchord, "up", "--demo", "--detach", "--json", "--port", str(PORT)]
        try:
            done = subprocess.run(
                up, env=environment, check=True, stdout=subprocess.PIPE, text=True
            )
            yield json.loads(done.stdout.splitlines()[-1])["api"]
        finally:
            subprocess.run([logchord, "down"], env=environment, check=False)


def show_all(browser: Browser, url: str) -> None:
    """Show each view in each theme and width, once every entry is read."""
    wait_until_read(url)
    for theme in THEMES:
        for width in WIDTHS:
            context = browser.new_context(
                viewport={"width": width, "height": 800}, color_scheme=theme
            )
            page = context.new_page()
            for name, path in VIEWS.items():
                shown = page.goto(url + path, wait_until="load")
                if shown is None or not shown.ok:
                    raise SystemExit(f"screenshots: {path} is not shown")
                picture = FOLDER / f"{name}-{theme}-{width}.png"
                page.screenshot(path=picture)
                kept = IN_README.get((name, theme, width))
                if kept:
                    shrink(picture, SHOWN / kept)
            context.close()


def wait_until_read(url: str) -> None:
    """Return once no stage has anything to do; before, less is found than later."""
    deadline = time.monotonic() + _READ_WITHIN_SECONDS
    while True:
        stages = httpx2.get(f"{url}/v1/lag", timeout=60).json()["stages"]
        waiting = sum(one["due"] + one["bulk"] for one in stages)
        if not waiting:
            return
        if time.monotonic() > deadline:
            raise SystemExit(f"screenshots: {waiting} are still to be read")
        time.sleep(1)


def shrink(source: Path, target: Path) -> None:
    """Write a picture small enough to be kept with the code."""
    with Image.open(source) as picture:
        height = round(picture.height * _README_WIDTH / picture.width)
        small = picture.convert("RGB").resize((_README_WIDTH, height))
        small.quantize(64).save(target, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
