"""What the package registers itself: `LOGCHORD_REGISTRY` names this module."""

from __future__ import annotations

from shared.plugins import (
    PipelineRegistration,
    SearchModuleRegistration,
    extend_registry,
)

extend_registry(
    search_modules=[
        SearchModuleRegistration(
            "pinned_again", "logchord_pinned.pinned_again", "What is pinned, again."
        )
    ],
    pipelines=[
        PipelineRegistration(
            "words_and_pins",
            "logchord_pinned.words_and_pins",
            "What words find, and what is pinned.",
            category="llm",
        )
    ],
)
