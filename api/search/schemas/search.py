"""Search requests and responses as the contract words them."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from api.search.schemas import filters
from api.search.schemas.absence import ContextAnswer, Coverage, Relaxation
from api.search.schemas.ambient import Ambient, dump_ambient
from api.search.schemas.branches import BranchOutcome
from api.search.schemas.facets import Facet
from api.search.schemas.hits import ResultsCut, SearchCard, SearchHit, parse_hit_fields
from api.search.schemas.times import SearchTime
from api.server.body_model import Body, RequestBody, body_model, shown_by
from api.server.field_types import WHOLE, Limit, Share, Whole
from shared.entry_fields import Kind
from shared.errors import InvalidRequestError
from shared.search.query.fault import Fault
from shared.search.query.list_by_time import Sort
from shared.search.query.modes import ALIASES as MODE_ALIASES
from shared.search.query.modes import MIN_DEADLINE_MS
from shared.search.query.plan import SearchQuery
from shared.search.query.result_detail import Amount, Detail, Synthesis
from shared.search.response.search_answer import SearchAnswer
from shared.text import door

_ALIASES = {"q": "query", "method": "mode", "max_results": "limit"}
_MODES = (
    *("auto", "keyword", "semantic", "hybrid", "agentic", "rag", "agent", "vector"),
)
_HUMP = re.compile(r"(?<=[a-z])[A-Z]")


Names = Annotated[list[str], Field(max_length=100)]


class SearchScope(BaseModel):
    """What the page that asks is about; such hits count more, others stay."""

    model_config = ConfigDict(extra="forbid")

    kinds: Annotated[list[Kind], Field(max_length=100)] = []
    logbooks: Names = []
    sources: Names = []
    devices: Names = []


class SearchRequest(RequestBody):
    """A question; everything but `query` is optional, and with filters that is, too."""

    model_config = shown_by(
        {"query": "RF trip last night", "mode": "hybrid", "limit": 5},
        {"query": "HCM 03", "mode": "keyword", "filters": {"logbook": "ops"}},
        required=["query"],
    )

    query: str = Field("", description="What is searched for; alias `q`.")
    mode: str = Field(
        "auto",
        description="keyword, semantic, hybrid, rag, agentic, agent or auto; aliases"
        " `method`, `vector`.",
        # For readers of the description: the plan itself refuses with its own code.
        json_schema_extra={"enum": [*_MODES]},
    )
    limit: Limit | None = None
    """Results returned, 10 unless set otherwise; alias `max_results`."""
    sort: Sort | None = None
    """relevance, or by time over all that match: newest, oldest."""
    filters: dict[str, Any] = Field({}, json_schema_extra=filters.SCHEMA)
    """A value, or {in: [...]} and what else each takes; all hold."""
    deadline_ms: Whole | None = Field(
        None,
        description="100 to twice the mode's default.",
        # The plan knows the mode, and refuses what is too little with what is too much.
        json_schema_extra={"minimum": MIN_DEADLINE_MS},
    )
    wait_ms: Annotated[int, Field(ge=0, le=30_000), WHOLE] | None = None
    """Then a job is answered instead: 202."""
    min_relevance_score: Share | None = None
    """What scores less is left out and counted in `suppressed`."""
    strict: StrictBool | None = None
    """Leave out what has less than medium confidence."""
    similarity_threshold: Share | None = None
    """Lowest cosine of the search by meaning."""
    fuzzy_threshold: Share | None = None
    """How alike a word must be to one that nobody has written, 0.3 unless set
    otherwise."""
    validates: StrictBool | None = Field(None, alias="validate")
    """Of several parts: compare hits with the whole question."""
    validation_threshold: Share | None = None
    """Cosine to the whole question that a hit of a part must have."""
    rerank: Literal["linear", "late", "model"] | StrictBool | None = None
    """False: the fused order stands; `model`: a cross-encoder; `late`: piece by
    piece."""
    scope: SearchScope | None = None
    """What the page that asks is about: a bias, never a filter."""
    ambient: Ambient | None = None
    """The page that asks, and what was done there: a bias, too."""
    session_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Of questions that belong together: their names are carried."""
    exhaustive: StrictBool | None = None
    """All that match by words, counted, and no cut anywhere."""
    facets: Annotated[list[str], Field(max_length=15)] | None = None
    """What all that match are counted by: fields of filters, `date`."""
    modules: Annotated[list[str], Field(min_length=1, max_length=20)] | None = None
    """The search modules that are asked, of the mode's own."""
    parameters: dict[str, Any] = Field({})
    """What modules of other packages take, by name."""
    collapse: Literal["entry", "thread"] | None = None
    """`thread`: of each thread its best entry alone; not by time."""
    detail: Detail | None = None
    """`brief` cuts each text to 500 characters."""
    fields: Annotated[list[str], Field(max_length=100)] | None = None
    """Of each result these fields alone."""
    max_chars: Annotated[int, Field(ge=0), WHOLE] | None = None
    """Most text of all results together; see `cut`."""
    debug: StrictBool | None = None
    """Adds `plan` and `score_trace` to the answer."""
    synthesize: Literal["deterministic", "llm"] | StrictBool | None = None
    """An answer in sentences of entries: of `auto` and `hybrid` unless false, of others
    where it is asked for; `llm`: worded by a model, as of `rag` unless it is false."""
    include_citations: StrictBool | None = None
    """False: no list of what is cited, and no marks."""
    citation_style: Literal["id", "numeric"] | None = Field(
        None, description="`[#label@revision]`, or `[n]` by place among the results."
    )

    @model_validator(mode="before")
    @classmethod
    def _resolve(cls, values: object) -> object:
        """Resolve aliases, and refuse what is not built in."""
        if not isinstance(values, dict):
            return values
        resolved: dict[str, object] = {}
        for key, value in values.items():
            name = _HUMP.sub(lambda hump: "_" + hump[0].lower(), key)
            name = _ALIASES.get(name, name)
            if name in resolved and not _is_same(name, resolved[name], value):
                message = f"{name} is given twice."
                raise InvalidRequestError.field(name, "duplicate", message)
            resolved[name] = value
        return resolved

    @model_validator(mode="after")
    def _refuse_nothing(self) -> Self:
        """Refuse what asks for nothing; filters list what passes them."""
        if "query" not in self.model_fields_set and not self.filters:
            raise InvalidRequestError.field("query", "missing", "Field required")
        return self

    def question(self, fault: Fault | None) -> SearchQuery:
        """Return the question, its texts admitted."""
        door.check_tree(self.filters, "filters")
        door.check_tree(self.modules or [], "modules")
        door.check_tree(self.parameters, "parameters")
        return SearchQuery(
            query=door.admit(self.query, "query"),
            mode=door.admit(self.mode, "mode"),
            limit=self.limit,
            filters=self.filters,
            deadline_ms=self.deadline_ms,
            fault=fault,
            ordering=self._ordering(),
            ambient=self._ambient(),
            session_id=self._session(),
            fuzzy_threshold=self.fuzzy_threshold,
            debug=bool(self.debug),
            sort=self.sort or "relevance",
            exhaustive=bool(self.exhaustive),
            facets=[door.admit(one, "facets") for one in self.facets or ()],
            modules=self.modules,
            parameters=self.parameters,
            by_thread=self.collapse == "thread",
            synthesis=Synthesis(
                marked=self.include_citations is not False,
                style=self.citation_style or "id",
            ),
            synthesize="deterministic" if self.synthesize is True else self.synthesize,
            asks_rerank=self.rerank is True,
            amount=self._amount(),
            validate=self.validates is not False,
            validation_threshold=self.validation_threshold,
            request=self._request(),
        )

    def _request(self) -> dict[str, Any]:
        """Return the request as stored with its job, without its session."""
        given = self.model_dump(
            exclude_unset=True, exclude={"ambient", "session_id"}, by_alias=True
        )
        around = {"ambient": dump_ambient(self.ambient)} if self.ambient else {}
        return {"query": self.query, **given, **around}

    def _ambient(self) -> dict[str, Any]:
        ambient = dump_ambient(self.ambient)
        door.check_tree(ambient, "ambient")
        return ambient

    def _session(self) -> str | None:
        if self.session_id is None:
            return None
        return door.admit(self.session_id, "session_id")

    def _amount(self) -> Amount:
        """Return the detail of results that the request asks for."""
        fields = parse_hit_fields(self.fields)
        return Amount(self.detail or "full", fields, self.max_chars)

    def _ordering(self) -> dict[str, object]:
        """Return the ordering that this request asks for."""
        asked: dict[str, object] = {
            "min_relevance_score": self.min_relevance_score,
            "strict": self.strict,
            "similarity_threshold": self.similarity_threshold,
            # `true` asks for what is done anyway.
            "rerank": False if self.rerank is False else None,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        if self.scope is not None:
            scope = self.scope.model_dump(exclude_defaults=True)
            door.check_tree(scope, "scope")
            given["scope"] = scope
        if isinstance(self.rerank, str):  # Each may be refused.
            given |= {"rerank": True, "by_model": self.rerank != "linear"}
        if self.rerank in {"late", "model"}:
            given["late"] = self.rerank == "late"
        return given


def _is_same(name: str, *said: object) -> bool:
    """Tell whether two names mean the same mode."""
    return name == "mode" and len({MODE_ALIASES.get(str(s), str(s)) for s in said}) == 1


class OverflowHits(Body):
    """Hits beside the page: what was asked for, and not quite so."""

    items: Annotated[list[SearchHit], Field(max_length=3)]
    reason: Literal["outside_time", "stronger", "close_band"]
    """At other times; or beyond the `scope`, with a higher score than its best, or one
    that is within the band."""
    band: float | None
    """How near to the best within the scope they may score, relative to it; null:
    nothing is compared."""
    nearest: str | None
    """Of these the one that was written nearest to the time asked for."""
    time: dict[str, str] | None
    """`from`, and before `to`: the same time of an earlier year, in which all of these
    were written; null: a year was named, or none has any."""


class SearchMeta(BaseModel):
    """How many entries were found, and what became of them."""

    total_candidates: int = Field(0, description="Before any is validated.")
    returned: int = 0
    sub_query_count: int = 0
    validated: int = Field(0, description="Compared with the whole question.")
    rejected_by_validation: int = 0


_Fields = body_model(
    SearchAnswer,
    without=("amount", "counts_hidden"),
    results=list[SearchHit],
    total_results=Annotated[
        int, Field(description="Results returned; not how many match.")
    ],
    cut=ResultsCut,
    meta=SearchMeta,
    degraded_recall=Annotated[
        bool, Field(description="A branch returned fewer candidates than there may be.")
    ],
    time=SearchTime,
    branches=list[BranchOutcome],
    coverage=Coverage | None,
    relaxation=Relaxation | None,
    overflow=OverflowHits | None,
    cards=list[SearchCard],
    context_answer=ContextAnswer | None,
    facets=dict[str, Facet],
)


class SearchResponse(_Fields):  # type: ignore[misc, valid-type]
    """The hits of a search, its branches, its coverage and its freshness."""
