"""What an installation can do, as the contract words it."""

from typing import Any, Literal

from pydantic import BaseModel


class Parameter(BaseModel):
    """One control of a mode or a module."""

    name: str
    label: str
    type: Literal["float", "int", "bool", "select", "date", "text", "dynamic_select"]
    default: float | str | bool | None
    min: float | None
    max: float | None
    step: float | None
    options: list[str]
    options_endpoint: str | None
    placeholder: str
    section: str


class ModeInfo(BaseModel):
    """One way to search."""

    name: str
    label: str
    description: str
    category: Literal["direct", "llm"]
    enabled: bool
    deadline_ms: int
    parameters: list[Parameter]


class ModuleInfo(BaseModel):
    """One search module, of ours or of another package."""

    name: str
    description: str
    search_mode: str
    enabled: bool
    needs_embedder: bool
    fallback: str | None
    parameters: list[Parameter]
    # What it takes as a tool, as a schema of JSON.
    arguments: dict[str, Any]


class Capabilities(BaseModel):
    """Modes, modules, filters, limits, encoder and version."""

    modes: list[ModeInfo]
    default_mode: str
    shared_parameters: list[Parameter]
    modules: list[ModuleInfo]
    filters: list[str]
    limits: dict[str, int]
    encoder: str
    version: str
