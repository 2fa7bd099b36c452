"""The third step of a search's end: the passage of each hit, with its marks."""

from shared.search.query.compiled.compiled_question import NOTHING_ASKED
from shared.search.query.plan import Plan
from shared.search.results import highlights
from shared.search.results.conclude import Conclusion
from shared.search.results.highlights import Highlighter
from shared.search.results.hit import Hit, make_hit
from shared.search.results.result_page import ResultPage, Shown
from shared.search.retrieval.module_contract import Lexicon
from shared.search.retrieval.search_context import SearchContext


def mark_passages(
    context: SearchContext,
    tenant: str,
    page: ResultPage,
    marker: Highlighter,
    first: int = 1,
) -> list[Hit]:
    """Return the hits of a page with marked passages, numbered from `first` on."""
    return [
        make_hit(
            tenant,
            place,
            shown,
            marker.mark(shown.row, _span(shown)),
            source_removed=context.is_removed(shown.row.source),
        )
        for place, shown in enumerate(page, first)
    ]


def make_marker(
    context: Lexicon, plan: Plan, conclusion: Conclusion, page: ResultPage
) -> Highlighter:
    """Make the highlighter of a page, or of the near misses of an empty page."""
    if not page and not conclusion.is_compared(plan):
        return Highlighter(NOTHING_ASKED, context.facility)
    languages = {shown.row.language for shown in page}
    return highlights.make_highlighter(context, plan, conclusion.branches, languages)


def _span(shown: Shown) -> tuple[int, int] | None:
    """Return the place of the best chunk, if the entry's text is still the same."""
    is_current = shown.item.revision == shown.row.revision
    return shown.item.span if is_current else None
