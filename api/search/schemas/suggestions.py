"""Questions that a page offers, evaluated before anybody asks them."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from api.search.schemas.absence import Coverage
from api.search.schemas.ambient import Ambient
from api.search.schemas.search import SearchScope
from api.server.body_model import Body, RequestBody, shown_by

Query = Annotated[str, Field(min_length=1, max_length=1000)]


class SuggestionsIn(RequestBody):
    """Up to ten questions, and the page that offers them."""

    model_config = shown_by({"queries": ["When did RFC2 last trip?"]})

    queries: Annotated[list[Query], Field(min_length=1, max_length=10)]
    scope: SearchScope | None = Field(None, description="What the page is about.")
    ambient: Ambient | None = Field(None, description="As of a search.")


class SuggestionOut(Body):
    """What one question would come to."""

    query: str
    viable: bool
    """True where it would be answered with evidence; what must be asked back is not
    viable."""
    viability_state: Literal[
        "grounded", "needs_clarification", "no_match", "scope_unready", "corpus_unready"
    ]
    scope_ready: bool
    """Whether there is anything of the page's `scope` that you may see."""
    evidence_count: int = Field(description="Sentences that it would be answered with.")


class SuggestionsOut(BaseModel):
    """The questions in their order, and what there is to be found by kind."""

    items: Annotated[list[SuggestionOut], Field(max_length=10)]
    coverage: Coverage
