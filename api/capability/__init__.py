"""Logbook search as an orchestrator routes to it: guides, context, errors."""

from api.capability.guides import DefaultLogbookSearchPromptBuilder
from api.capability.logbook_search import LogbookSearchCapability
from api.capability.search_results import LogbookSearchResultsContext

__all__ = [
    "DefaultLogbookSearchPromptBuilder",
    "LogbookSearchCapability",
    "LogbookSearchResultsContext",
]
