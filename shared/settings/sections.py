"""The sections of `logchord.yaml`, one frozen model each."""

from __future__ import annotations

import ast
import inspect
import zoneinfo
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    model_validator,
)


class Section(BaseModel):
    """A group of settings; help that needs more room stands below its setting.

    Unknown keys are refused when a layer is read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def leaves(self, above: tuple[str, ...] = ()) -> Iterator[Leaf]:
        """Go through every value below, in the order in which it is declared."""
        for key in (*type(self).model_fields, *(self.__pydantic_extra__ or {})):
            yield from _leaves((*above, key), getattr(self, key), type(self))


@cache
def read_help(kind: type[Section]) -> Mapping[str, str]:
    """Return the help of each setting: its description, or what stands below it.

    The source is read when somebody asks: pydantic would do so at every start.
    """
    (section,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(section, ast.ClassDef)
    told = {
        ast.unparse(field.target): " ".join(ast.literal_eval(said.value).split())
        for field, said in pairwise(section.body)
        if isinstance(field, ast.AnnAssign) and isinstance(said, ast.Expr)
    }
    for above in kind.__bases__:
        if issubclass(above, Section):
            told = {**read_help(above), **told}
    fields = kind.model_fields.items()
    return {key: info.description or told.get(key, "") for key, info in fields}


class Leaf(NamedTuple):
    """One value of a setting, by its whole name."""

    name: tuple[str, ...]
    value: Any
    section: type[Section]

    @property
    def help(self) -> str:
        """What it is for."""
        return read_help(self.section).get(self.name[-1], "")

    @property
    def dotted(self) -> str:
        """The name as it is written in documents."""
        return ".".join(self.name)


def _leaves(
    name: tuple[str, ...], value: Any, section: type[Section]
) -> Iterator[Leaf]:
    if isinstance(value, Section):
        yield from value.leaves(name)
    elif isinstance(value, dict) and any(
        isinstance(v, Section) for v in value.values()
    ):
        for key, below in value.items():
            yield from _leaves((*name, key), below, section)
    else:
        yield Leaf(name, value, section)


def known_zone(value: str) -> str:
    """Return the name of a time zone, if it is one."""
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise ValueError(f"{value!r} is no time zone such as Europe/Zurich") from exc
    return value


Zone = Annotated[str, AfterValidator(known_zone)]
_HEADER = r"^[A-Za-z0-9_-]{1,64}$"


class ReasoningSettings(Section):
    """The model that reasons in `rag` and `agent`."""

    provider: str | None = None
    """Name under `api.providers`; none answers without a model."""
    model_id: str | None = Field(None, description="The provider's name of the model.")
    temperature: float = Field(0.1, ge=0, le=2, description="Of the model's words.")
    max_iterations: int = Field(5, ge=1, le=100, description="Turns of an agent.")
    total_timeout_seconds: float = Field(120, gt=0, le=120)
    """One absolute deadline for all turns of an agent, in seconds."""
    max_tool_calls: int = Field(20, ge=1, le=200)
    """Tools that an agent may call in all its turns."""
    max_calls_per_tool: int = Field(10, ge=1, le=200)
    """How often an agent may call one tool."""
    max_tokens: int = Field(60_000, ge=100)
    """Tokens that an agent may read and write, then it ends."""


class ProviderSettings(Section):
    """Where a provider of models listens, and our key for it."""

    base_url: str | None = Field(None, description="Address of its interface.")
    api_key: SecretStr | None = Field(None, description="Our key; kept out of logs.")
    timeout_seconds: float = Field(30, gt=0, description="Seconds of one call.")
    embedding_batch: int = Field(32, ge=1, le=1000)
    """Texts of one call for vectors."""
    embedding_tokens: int = Field(250, ge=16, le=8192)
    """Tokens of a text that make one vector, at most."""
    embedding_languages: tuple[str, ...] = ()
    """Languages, as `en`, that its model speaks; none: all."""
    excluded_logbooks: tuple[str, ...] = ()
    """Logbooks whose entries no language model of this provider is given to read."""


class ApiSettings(Section):
    """How requests come in, and the providers of models in one place for all."""

    head_seconds: float = Field(10, ge=0.5, le=300)
    """Seconds in which the headers of a request must have come."""
    body_seconds: float = Field(120, ge=0.5, le=3600)
    """Seconds without a byte after which the body of a request is given up."""
    providers: dict[str, ProviderSettings] = Field({})
    """Providers of models, by name."""


class SynthesisSettings(Section):
    """Answers made of results."""

    enabled: bool = Field(default=True, description="Off: no search has an answer.")
    provider: str | None = None
    """Name under `api.providers` of who words answers over results; none: that of
    `reasoning`, else `openai`, if that serves nothing else."""
    model: str = Field("gpt-3.5-turbo", description="The provider's model.")
    max_tokens: int = Field(500, ge=1, description="Length of a model's answer.")
    max_sources: int = Field(5, ge=1, description="Results that an answer reads.")
    temperature: float = Field(0.3, ge=0, le=2, description="Of the model's words.")
    timeout_seconds: float = Field(15, ge=1, le=120)
    """Time of a search whose answer a model words, unless it names a deadline itself,
    in seconds."""
    quota_per_day: int = Field(200, ge=0)
    """Answers by a model a day and tenant."""
    quota_per_minute: int = Field(10, ge=0)
    """Answers by a model a minute and tenant."""


class CapabilitySettings(Section):
    """What orchestrators are told of logbook search."""

    prompts: bool = True
    """Off: the guides without a builder and examples."""
    prompt_builder: str | None = None
    """A facility's own builder of prompts, as `module:Class`."""


class McpSettings(Section):
    """What agents are offered by the Model Context Protocol."""

    port: int = Field(8007, ge=1, le=65535, description="Port of `serve mcp`.")
    tools: Literal["eight", "all"] = "eight"
    """`all`: other names, too, and one for each search mode."""
    write: bool = False
    """Offer `entry_create` to keys that may write."""


class FlowerSettings(Section):
    """What operators see in Flower."""

    direct_searches: bool = False
    """Show the tasks of direct searches, too, which then cost more."""


class OperationsSettings(Section):
    """Who is told when something is wrong, without asking."""

    webhook_url: SecretStr | None = None
    """Where problems are told: `https://`, `chat+https://` for Slack and Mattermost,
    `mailto:`; of `webhook_allowed_hosts`."""
    signing_secret: SecretStr | None = None
    """What its posts are signed with; unset: they are not."""
    backup_folder: Path | None = None
    """Where your backups are put: their age is watched."""
    backup_hours: float = Field(26, gt=0)
    """With none newer, a problem is told."""


class AuditSettings(Section):
    """What is kept of who did what; see docs/how-to/see-who-did-what.md."""

    reading: bool = Field(
        default=True,
        description="Off: searches and reads leave no row; all else still does.",
    )
    retention_days: int = Field(
        180, ge=1, le=3_650, description="Days for which a row is kept."
    )


class TelemetrySettings(Section):
    """What is kept of how people search."""

    enabled: bool = True
    """Off: no events and no feedback."""
    retention_days: int = Field(30, ge=1, le=400)
    """Days for which all of it is kept."""
    fallback_loop: int = Field(3, ge=2, le=20)
    """So many vain answers in a row alert."""


class SessionSettings(Section):
    """How long a session keeps the context of its last search."""

    inactivity_seconds: int = Field(900, ge=1)
    """Seconds without a search after which a session's context is forgotten."""


class TenantSettings(Section):
    """What one tenant may use."""

    enabled: bool = Field(default=True, description="Unified search.")
    federation_enabled: bool = Field(default=False, description="Other back-ends.")
    synthesis_enabled: bool = Field(default=True, description="Answers by a model.")
    language: str | None = Field(None, pattern=r"^[a-z]{2}$")
    """What language a text of its is in that is too short to tell."""


class PersonRights(Section):
    """What the people of a group may do, and in which logbooks."""

    scopes: tuple[Literal["read", "search", "ingest", "admin"], ...] = Field(
        ("read", "search"), description="Scopes, as those of a key."
    )
    logbooks: tuple[str, ...] | None = None
    """Only these, in every answer; unset: all."""


class PeopleSettings(Section):
    """People whom a gateway has logged in, and what its word for them is worth."""

    header: str | None = Field(None, pattern=_HEADER)
    """Header of `trusted_proxies` that names the person, as `X-Forwarded-User`; unset:
    nobody comes so."""
    groups_header: str | None = Field(None, pattern=_HEADER)
    """The one with their groups, as `X-Forwarded-Groups`."""
    groups_separator: Literal[",", ";", "|"] = Field(
        ",", description="What stands between two groups; behind `\\` it is of a name."
    )
    tenant: str = Field("default", description="The facility that they belong to.")
    groups: dict[str, PersonRights] = Field({})
    """What each group's people may do, by its name; it adds up."""
    default: PersonRights | None = None
    """What people of no such group may do; unset: nothing."""
    sign_out: str | None = Field(None, pattern=r"^(/|https?://)[^\s<>]*$")
    """Address of the gateway where people leave, which the page shows."""

    @property
    def headers(self) -> tuple[str | None, str | None]:
        """The headers that name a person and their groups."""
        return self.header, self.groups_header


class WorkSettings(Section):
    """How due work is claimed and bounded; its strikes are a constant of `leases`."""

    lease_seconds: float = Field(15, ge=1, le=60)
    """How long a claim holds without a renewal."""
    lease_renew_seconds: float = Field(5, gt=0, le=20)
    """How often a claim at work is renewed."""
    task_soft_seconds: float = Field(50, gt=0, le=60)
    """A task is told to stop after it (prefork)."""
    task_hard_seconds: float = Field(60, gt=0, le=60)
    """A task that still runs is ended with its process."""
    max_finding_bytes: int = Field(65_536, ge=1, le=1_000_000)
    """Bytes that a stage may find of one entry; one that finds more has failed."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.lease_renew_seconds * 2 > self.lease_seconds:
            message = "lease_renew_seconds must be at most half of lease_seconds"
            raise ValueError(message)
        if self.task_soft_seconds > self.task_hard_seconds:
            raise ValueError("task_soft_seconds must not exceed task_hard_seconds")
        return self


class StageSettings(Section):
    """One stage of an entry's work, built in or plugged in."""

    enabled: bool = True
    """Off: it rests; what it found stays."""
    settings: dict[str, Any] = Field({}, description="What the stage asks for itself.")


# What has a task of its own, which others rely on.
LASTING_STAGES = frozenset({"attachments", "duplicates", "embed", "index", "metadata"})


def _can_be_set(given: dict[str, StageSettings]) -> dict[str, StageSettings]:
    """Refuse a stage that nobody installed, and to switch off what must run."""
    installed = entry_points(group="logchord.enhancers").names
    if unknown := sorted(given.keys() - installed):
        raise ValueError(f"no stage {unknown[0]} is installed")
    off = {name for name, one in given.items() if not one.enabled}
    if lasting := sorted(off & LASTING_STAGES):
        raise ValueError(f"the stage {lasting[0]} cannot be switched off")
    return given


StagesSettings = Annotated[dict[str, StageSettings], AfterValidator(_can_be_set)]


class AttachmentSettings(Section):
    """Where files beside entries are kept, and what reading them may cost."""

    store: str | None = None
    """Folder, or any address that fsspec knows; none: `attachments` below `home`."""
    extract_seconds: float = Field(20, gt=0, le=30)
    """Time that the text of one file may take."""
    extract_memory_mb: int = Field(512, ge=128)
    """Memory that the text of one file may take."""
    max_text_bytes: int = Field(1_000_000, ge=1)
    """The text of one file is cut there."""
    thumbnail_pixels: int = Field(320, ge=0, le=512)
    """Longer side of the small picture of a picture; 0: none is made."""
