"""A pipeline without a function: two search modules, ranked as one list.

Its category says that a model reasons in it, so that its searches end in a chord.
"""

from __future__ import annotations

from shared.search.pipelines.pipeline_contract import PipelineDescriptor


def get_pipeline_descriptor() -> PipelineDescriptor:
    """Return what Logchord knows of the pipeline."""
    return PipelineDescriptor("words_and_pins", "Words and pins", "", "llm")
