"""Embedding models, as REST tells them."""

from typing import Any, Literal

from pydantic import Field

from api.server.body_model import RequestBody, ResponseBody, dump_fields, shown_by
from shared.embedding.vectors.model_registry import ModelStatus


class ReembedIn(RequestBody):
    """How entries are embedded for another model."""

    batch: int = Field(128, ge=1, le=1000)
    """Entries looked at in one step."""
    dry_run: bool = False
    """Only say how many entries it would embed."""
    force: bool = False
    """Switch although entries lack a vector."""


class PlannedOut(ResponseBody):
    """What a re-embedding would do."""

    model_config = shown_by({"model": "m", "missing": 12})

    model: str
    missing: int = Field(description="Entries without a vector of it, about.")


class EmbedModelOut(ResponseBody):
    """A model, and how much of what there is it has a vector of."""

    model_config = shown_by(
        {
            "model": "all-MiniLM-L6-v2-int8",
            "state": "live",
            "active": True,
            "dimension": 384,
            "table": "knowledge_base_all_minilm_l6_v2_int8",
            "rows": 120_400,
            "entries": 118_000,
            "missing": 0,
            "similarity_floor": 0.2,
            "languages": ["en"],
            "created_at": "2026-03-02T04:10:00.000Z",
        }
    )

    model: str
    state: Literal["live", "filling", "filled", "kept"]
    """Live: searches read it. Filled: entries are embedded for it, too. Kept: no longer
    filled."""
    active: bool = Field(description="Whether searches read it.")
    dimension: int
    table: str
    rows: int = Field(description="Vectors in its table.")
    entries: int = Field(description="Entries that have one.")
    missing: int
    """Entries that have none; a blank one never has, and is one of them."""
    similarity_floor: float
    languages: list[str]
    """What it was trained for; empty: not known, or any."""
    created_at: str


class EmbedModelsOut(ResponseBody):
    """Every model that has a table."""

    models: list[EmbedModelOut]


def embed_model_out(one: ModelStatus) -> dict[str, Any]:
    """Return a model with its counts."""
    model = one.model
    return dump_fields(
        EmbedModelOut,
        one,
        model=model.model,
        active=model.live,
        dimension=model.dimension,
        table=model.table_name,
        similarity_floor=round(model.similarity_floor, 3),
        languages=list(one.languages),
        created_at=model.created_at,
    )
