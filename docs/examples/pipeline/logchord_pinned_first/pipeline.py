"""A pipeline: what is pinned for the question, and behind it what its words find."""

from __future__ import annotations

from uuid import UUID

from shared.search.pipelines.pipeline_contract import PipelineDescriptor
from shared.search.pipelines.run_pipeline import Modules
from shared.search.retrieval.module_contract import Ask, ModuleResult, Named
from shared.search.retrieval.search_context import SearchContext
from shared.search.retrieval.search_parameters import ParameterDescriptor


async def run(ask: Ask, context: SearchContext, modules: Modules) -> ModuleResult:
    """Return both, each entry once, in that order."""
    pinned = modules.find("pinned")
    # Where nothing is pinned, its words are all that there is to go by.
    said = str(ask.plan.parameters["then"]) or ask.plan.query
    others = modules.find("keyword", said)
    entries = dict.fromkeys(UUID(hit.entry_id) for hit in (*pinned, *others))
    return ModuleResult(
        named=tuple(Named(one, 1 / n) for n, one in enumerate(entries, 1))
    )


def get_pipeline_descriptor() -> PipelineDescriptor:
    """Return what Logchord knows of the pipeline."""
    then = ParameterDescriptor("then", "Then search for", "text", default="", max=80)
    return PipelineDescriptor(
        "pinned_first",
        label="Pins, then words",
        description="What is pinned, and behind it what words find.",
        category="direct",
        parameters=(then,),
        execute=run,
    )
