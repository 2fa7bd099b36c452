"""What WCAG asks for and no tool sees: focus, direction, what needs no dragging."""

from collections.abc import Callable

import httpx2
import pytest
from playwright.sync_api import expect

from tests.support.axe import QUESTION
from tests.support.fixtures.browser import NARROW, WIDE, Tab
from tests.support.written import push_found

# 2.4.11: whether whatever has the focus is covered wholly by something else.
HIDDEN = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const box = one.getBoundingClientRect();
  const corners = [[box.left + 2, box.top + 2], [box.right - 2, box.bottom - 2],
    [(box.left + box.right) / 2, (box.top + box.bottom) / 2]];
  const seen = corners.some(([x, y]) => {
    const top = document.elementFromPoint(x, y);
    return top && (one.contains(top) || top.contains(one));
  });
  return seen ? null : one.outerHTML.slice(0, 120);
}"""


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_whatever_has_the_focus_is_seen(logbook, open_tab, width) -> None:
    page = open_tab(width=width).show(f"{QUESTION}&open=api/OPS-1%402")
    stops = page.locator("a[href], button, input, select, summary").count()
    covered = []
    for key, times in (("Tab", stops + 2), ("Shift+Tab", stops)):
        for _ in range(times):
            page.keyboard.press(key)
            covered.append(page.evaluate(HIDDEN))

    assert [one for one in covered if one] == []


# Where the first letter of a text within an element is drawn, and the last.
ENDS = """(one) => {
  const walk = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  let texts = [];
  while (walk.nextNode()) texts.push(walk.currentNode);
  texts = texts.filter((text) => text.data.trim());
  const at = (text, first) => {
    const range = document.createRange();
    range.setStart(text, first);
    range.setEnd(text, first + 1);
    return range.getBoundingClientRect().x;
  };
  const last = texts.at(-1);
  return [at(texts[0], 0), at(last, last.data.trimEnd().length - 1)];
}"""


def test_a_text_has_its_own_direction_and_turns_nothing_round_beside_it(
    own_logbook: httpx2.Client, open_tab: Callable[..., Tab]
) -> None:
    turned = "Mallory \u202eyrollaM"
    said = {"text": "תקלה במגנט QD-3 תוקנה.", "authors": [turned]}
    push_found(
        own_logbook, [{"external_id": "RTL", "title": "QD-3 \u202eevlaV", **said}]
    )
    tab = open_tab()
    hit = tab.show("/search?q=QD-3&mode=keyword").locator("li.hit")

    for beside in (".tag", ".kind"):
        first, last = hit.locator(beside).evaluate(ENDS)
        assert first < last, beside
    # A full stop stands at the left end of what is read from the right.
    first, last = hit.locator(".passage").evaluate(ENDS)
    assert last < first
    first, last = tab.show("/e/api/RTL").locator("#text").evaluate(ENDS)
    assert last < first


def test_the_histogram_needs_no_dragging(logbook, open_tab) -> None:
    page = open_tab().show("/search?q=gate+valve")
    bars = page.locator("svg.bars a").count()
    page.locator(".when details summary").click()
    assert page.locator(".when tbody a").count() == bars > 0
    page.locator(".when tbody a").first.click()

    assert "from=2026-02-" in page.url
    for name in ("← earlier", "later →"):
        # Counted behind the hits, it is there a moment later.
        expect(page.locator(f".shift-window >> text={name}")).to_have_count(1)
