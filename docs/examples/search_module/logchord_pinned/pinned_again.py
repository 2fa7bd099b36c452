"""The same search module under another name, registered without an entry point."""

from __future__ import annotations

from dataclasses import replace

from shared.search.retrieval.module_contract import SearchToolDescriptor

from . import module


def get_tool_descriptor() -> SearchToolDescriptor:
    """Return what Logchord knows of the module."""
    told = module.get_tool_descriptor()
    name = "pinned_again"
    return replace(told, name=name, search_mode=name, description="", unit="pins_again")


get_parameter_descriptors = module.get_parameter_descriptors
