"""The pages there are, and what axe finds wrong with one."""

from typing import Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
# Every rule in light; in dark those that look at colours, for nothing else differs.
RULES = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "dark": COLOURS,
}
QUESTION = "/search?q=why+did+gate+valve+8+close+with+beam+in+the+machine"
PAGES = (
    *("/", QUESTION, f"{QUESTION}&open=api/OPS-1%402", "/search?q=gate&rows=condensed"),
    *(
        "/search?q=zyzzyva&mode=keyword",
        "/search?q=gate&from=2031-01-01",
        "/search?q=gate&sort=x",
    ),
    *("/e/api/OPS-1@2?q=valve", "/e/api/OPS-1@1", "/e/api/X%3C1%3E", "/e/api/none"),
    "/search?q=gate+valve+8+exploded",
    *(
        "/live",
        "/live?paused=1",
        "/digest",
        "/digest?since=2026-01-01",
        "/jobs",
        "/sources",
        "/status",
    ),
    *("/sources/api", "/quarantine", "/help", "/login", "/saved?q=gate"),
)
VIOLATED = """async (rules) => (await axe.run(document, rules)).violations.flatMap(
  (one) => one.nodes.map((node) => `${one.id}: ${node.html} ${node.failureSummary}`))"""


def problems(page: Page, *, colours_only: bool = False) -> list[str]:
    """Return what a page violates in either theme, which are two sets of colours."""
    page.evaluate(AXE_SCRIPT)
    found: list[str] = []
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        rules = COLOURS if colours_only else RULES[theme]
        asked = {"resultTypes": ["violations"], "runOnly": rules}
        told = page.evaluate(VIOLATED, asked)
        found += [f"{theme}: {one[:400]}" for one in told]
    return found
