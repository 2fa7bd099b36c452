"""Finds entries with a tag that the question names word for word."""

from itertools import pairwise

from shared.messaging.stage_names import METADATA_STAGE
from shared.search.query.decomposition.decompose import list_content_words
from shared.search.query.language import tree_text
from shared.search.retrieval import module_contract
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.modules.evidence import weighted_terms
from shared.search.retrieval.search_context import SearchContext
from shared.text import facts

NAME = "tag"
# How many words of a question are looked up, the first ones.
_MOST_WORDS = 32


def search(ask: Ask, context: SearchContext) -> ModuleResult:
    """Find entries with tags of the question, scored by their share of its words."""
    words = list_content_words(tree_text.wanted_text(ask.plan.tree))[:_MOST_WORDS]
    if not words:
        return ModuleResult(skipped="empty_query")
    tags = dict.fromkeys(words, 1)
    for first, second in pairwise(words):
        tags |= dict.fromkeys((f"{first} {second}", f"{first}-{second}"), 2)
    weights = {
        facts.MARK + facts.make_term("tag", tag): size / len(words)
        for tag, size in tags.items()
    }
    hits = weighted_terms.find_by_terms(ask, context, NAME, weights)
    return weighted_terms.as_result(context, hits)


def get_tool_descriptor() -> module_contract.SearchToolDescriptor:
    """Return the descriptor of the module `tag`."""
    return module_contract.SearchToolDescriptor(
        name=NAME,
        description="Entries that carry a tag which the question names.",
        search_mode=NAME,
        execute=search,
        unit=NAME,
        engine="postgres",
        needs_stages=(METADATA_STAGE,),
    )
