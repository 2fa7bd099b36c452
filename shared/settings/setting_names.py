"""The names of settings without our prefix, of older releases and of others."""

import re
from collections.abc import Mapping

Name = tuple[str, ...]

PREFIX = "LOGCHORD_"

# These are also read without the prefix: nobody means anything else by them.
# Words that any program may use (HOST, PORT, HOME, CACHE) are not among them.
BARE = frozenset(
    {
        *("database_url", "broker_url", "search_redis_url", "opensearch_url"),
        *("opensearch_index", "opensearch_zip", "vector_table_prefix"),
        *("embedding_model", "log_level", "log_queries", "flower_port"),
    }
)

# Variables of ours that are no settings: where the file is, who registers plug-ins,
# and the client's own.
OTHER_VARIABLES = frozenset(
    {"LOGCHORD_CONFIG", "LOGCHORD_REGISTRY", "LOGCHORD_URL", "LOGCHORD_API_KEY"}
)
TEST_PREFIX = "LOGCHORD_TEST_"

ENVIRONMENT_ALIASES: Mapping[str, str] = {
    "RETRIEVER_PORT": "port",
    "RETRIEVER_DEFAULT_METHOD": "search.default_method",
    "RETRIEVER_DEFAULT_LIMIT": "default_limit",
    "RETRIEVER_MIN_RELEVANCE": "search.min_relevance_score",
    "QDRANT_URL": "vector_search.url",
    "QDRANT_COLLECTION": "vector_table_prefix",
    "ELASTICSEARCH_URL": "opensearch_url",
    "ELASTICSEARCH_INDEX": "opensearch_index",
    "RERANKER_MODEL": "reranking.model",
    "ENABLE_RERANKING": "reranking.enabled",
    "ENABLE_SYNTHESIS": "synthesis.enabled",
    "SYNTHESIS_MODEL": "synthesis.model",
    "SYNTHESIS_MAX_TOKENS": "synthesis.max_tokens",
    "SYNTHESIS_MAX_SOURCES": "synthesis.max_sources",
    "OPENAI_API_KEY": "api.providers.openai.api_key",
}

# An alias of a section stands for everything in it.
ALIASES: Mapping[str, str] = {
    "retriever_arm.default_method": "search.default_method",
    "retriever_arm.min_relevance_score": "search.min_relevance_score",
    "retriever_arm.port": "port",
    "retriever_arm.default_limit": "default_limit",
    "retriever_arm.vector_search": "vector_search",
    "retriever_arm.keyword_search": "keyword_search",
    "retriever_arm.reranking": "reranking",
    "retriever_arm.synthesis": "synthesis",
    "retriever_arm.fusion": "fusion",
    "vector_search.url": "database_url",
    "vector_search.collection": "vector_table_prefix",
    "vector_search.embedding_model": "embedding_model",
    "vector_search.embedding_dimension": (
        "search_modules.semantic.settings.embedding_dimension"
    ),
    "search_modules.semantic.model": "embedding_model",
    "keyword_search.url": "opensearch_url",
    "keyword_search.index": "opensearch_index",
    "keyword_search.algorithm": "keyword.algorithm",
    "fusion.k": "rrf_k",
    "pipelines.agent.reasoning": "reasoning",
    "pipelines.agent.max_iterations": "reasoning.max_iterations",
    "pipelines.agent.temperature": "reasoning.temperature",
    "pipelines.agent.total_timeout_seconds": "reasoning.total_timeout_seconds",
    "advisory_ai.unified_search": "unified_search",
    "advisory_ai.knowledge_search": "unified_search",
    "unified_search.synthesis": "synthesis",
    "unified_search.session": "session",
    "unified_search.search_telemetry_enabled": "telemetry.enabled",
    "search_telemetry_enabled": "telemetry.enabled",
    "unified_search.tenant_feature_flags": "tenants",
    "tenant_feature_flags": "tenants",
}

# Read and checked, and no code acts on it yet. Whoever builds the feature takes
# its line away; until then a value given for it is answered with a warning.
WITHOUT_EFFECT = (
    "keyword.algorithm",
    "unified_search.federation",
    "unified_search.ingestion",
)

# The same of a tenant, whatever its name.
_OF_TENANTS_WITHOUT_EFFECT = ("federation_enabled",)

# Sections whose keys may come as `BaseDomainWeights`, `baseDomainWeights` or ours.
_EITHER_CASE = {"advisory_ai", "unified_search", "tenant_feature_flags"}
_KEPT_AFTER = {"tenants", "tenant_feature_flags"}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# What Kubernetes plants for a service of this name; nobody has set it.
_SERVICE_LINK = re.compile(
    r"_SERVICE_HOST$|_SERVICE_PORT(_\w+)?$|_PORT_\d+_(TCP|UDP)(_\w+)?$"
)
_SERVICE_ADDRESS = re.compile(r"(tcp|udp)://\S+:\d+")

_BY_NAME: dict[Name, Name] = {
    tuple(alias.split(".")): tuple(name.split(".")) for alias, name in ALIASES.items()
}


def environment_name(field: str) -> str:
    """Return the variable that sets a field, also a dotted one."""
    if field in BARE:
        return field.upper()
    return PREFIX + field.replace(".", "__").upper()


def environment_names(field: str) -> tuple[str, ...]:
    """Return every variable that sets a field, the first being ours."""
    first = environment_name(field)
    prefixed = PREFIX + field.replace(".", "__").upper()
    aliases = [
        variable
        for variable, name in ENVIRONMENT_ALIASES.items()
        if ".".join(canonical(tuple(name.split(".")))) == field
    ]
    return tuple(dict.fromkeys((first, prefixed, *aliases)))


def file_aliases(field: str) -> tuple[str, ...]:
    """Return the other places of the file that set a field."""
    found: list[str] = []
    for alias in _spellings(tuple(field.split("."))):
        dotted = ".".join(alias)
        if dotted != field:
            found.append(dotted)
    return tuple(dict.fromkeys(found))


def _spellings(name: Name) -> list[Name]:
    """Return the name and whatever leads to it, following aliases backwards."""
    found = [name]
    for seen in found:
        for alias, target in _BY_NAME.items():
            if seen[: len(target)] == target:
                spelled = alias + seen[len(target) :]
                if spelled not in found and canonical(spelled) == name:
                    found.append(spelled)
    return found


def canonical(name: Name) -> Name:
    """Follow aliases, the longest first, until the name is one of ours."""
    while True:
        for length in range(len(name), 0, -1):
            target = _BY_NAME.get(name[:length])
            if target is not None:
                name = target + name[length:]
                break
        else:
            return name


def spelled_out(name: Name) -> Name:
    """Return foreign spellings of a section's keys as ours."""
    parts = tuple(name[0].split(":")) + name[1:]
    if _snake(parts[0]) not in _EITHER_CASE:
        return name
    return tuple(
        # A tenant's name is its own, whatever its case.
        part
        if position and _snake(parts[position - 1]) in _KEPT_AFTER
        else _snake(part)
        for position, part in enumerate(parts)
    )


def _snake(part: str) -> str:
    return _HUMP.sub("_", part).lower()


def is_service_link(variable: str, text: str) -> bool:
    """Tell whether Kubernetes made this variable out of a service's name."""
    return bool(
        _SERVICE_LINK.search(variable)
        or (variable.endswith("_PORT") and _SERVICE_ADDRESS.fullmatch(text))
    )


def is_without_effect(dotted: str) -> bool:
    """Tell whether no code acts on this setting yet."""
    section, _, leaf = dotted.partition(".")
    if section == "tenants":
        return leaf.rpartition(".")[2] in _OF_TENANTS_WITHOUT_EFFECT
    return any(
        dotted == part or dotted.startswith(f"{part}.") for part in WITHOUT_EFFECT
    )
