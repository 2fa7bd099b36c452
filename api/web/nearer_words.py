"""What a question may have meant, where words of it are spelt as nobody spells them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from api.web.search_form import SearchForm
from shared.search.results.visible_expansions import FUZZY

# As a search says it; the first of several is what most entries have.
_TAKEN = re.compile(r"`([^`]+)` as ([^,;.]+)")


def find_meant(
    form: SearchForm, diagnostics: Iterable[Mapping[str, Any]]
) -> SearchForm | None:
    """Return the question as a search has read it, whose hits are on the page.

    Words of letters alone are read so, and only as what stands in a hit: a device's
    name or a number is never another's.
    """
    said = "".join(one["message"] for one in diagnostics if one["code"] == FUZZY)
    query = form.q
    for typed, meant in _TAKEN.findall(said):
        whole = rf"(?<!\w){re.escape(typed)}(?!\w)"
        query = meant.join(re.split(whole, query, flags=re.IGNORECASE))
    return replace(form, q=query, page=1, open="") if query != form.q else None
