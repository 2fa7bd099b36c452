"""The page of what a search says of itself."""

from reference_pages.markdown import as_code, page, table

# What each says, by its code; a test finds each of them in the code.
SAID = {
    "brackets_ignored": "A bracket has no other, or stands too deep, and is ignored.",
    "date_unreadable": "A date cannot be read; it is searched as text.",
    "dimension_mismatch": "Vectors are of another length than `embedding_dimension`.",
    "facts_skipped": "Threads, copies and series came too late: none is weighed.",
    "field_unreadable": "The value of a field cannot be read; it is searched as text.",
    "fuzzy_fallback": "No entry has all the words as they are spelt; these nearly so.",
    "operator_foreign": "A sign of other query languages (`&&`, `||`, `!`) is"
    " no operator here and is text.",
    "operator_ignored": "An operator has nothing to join and is left out.",
    "query_truncated": "The question is longer than `max_query_chars`.",
    "quotes_balanced": "A quote has no other to close it and is left out.",
    "relaxed_to_any_term": "No entry has all the words; these have some of them.",
    "rerank_skipped": "Results stand in another order than was asked for, and why.",
    "session_unread": "Redis did not say in time what the session had asked before.",
    "source_unknown": "Of a source asked for there is no entry that you may see.",
    "terms_dropped": "More words than `max_query_terms`; the shortest are left out.",
    "terms_expanded": "What patterns and forms of the glossary were searched as.",
    "under_return": "By meaning, what is farther was not looked at; there may be more.",
    "wildcard_capped": "A pattern stands for too many words; the commonest count.",
    "wildcard_refused": "A `*` alone, or a `?` in what is no name, is no pattern.",
}
# Beside those of the contract.
OURS = frozenset(
    {"field_unreadable", "operator_ignored", "session_unread", "source_unknown"}
)


def diagnostics_page() -> str:
    """Return every code of an answer's `diagnostics`."""
    return page(
        "Diagnostics",
        "What an answer says in `diagnostics[]`, beside its results. None is an error:"
        " the search went on. Ours come beside the contract's list of codes.",
        table(
            ("code", "says", "whose"),
            (
                (as_code(code), said, "ours" if code in OURS else "the contract's")
                for code, said in sorted(SAID.items())
            ),
        ),
    )
