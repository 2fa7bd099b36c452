"""The names of the systems that Logchord takes the place of, still understood."""

import sys
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from shared.adapter_contract.entry import KINDS
from shared.errors import ConfigurationError
from shared.settings import setting_names
from shared.settings.settings import Settings, load_report

# The configuration file of the retriever service, as its manual prints it.
RETRIEVER_FILE = """
retriever_arm:
  port: 8006
  default_method: hybrid
  default_limit: 10
  min_relevance_score: 0.5
  vector_search:
    url: http://qdrant:6333
    collection: knowledge_base
    embedding_model: all-MiniLM-L6-v2
    embedding_dimension: 384
  keyword_search:
    url: http://elasticsearch:9200
    index: knowledge_base
    algorithm: bm25
  reranking:
    enabled: true
    model: cross-encoder/ms-marco-MiniLM-L-6-v2
  synthesis:
    enabled: true
    model: gpt-3.5-turbo
    max_tokens: 500
    max_sources: 5
    temperature: 0.3
  fusion:
    method: rrf
    k: 60
"""


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No file of the working folder, and no stack of this machine, is read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def report_of(text: str, folder: Path, **environ: str):
    file = folder / "given.yaml"
    file.write_text(text, encoding="utf-8")
    return load_report({"LOGCHORD_HOME": str(folder), **environ}, file)


def value_of(settings: Settings, dotted: str) -> Any:
    """Return a setting as it would be written."""
    value: Any = settings
    for part in dotted.split("."):
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    return value.get_secret_value() if hasattr(value, "get_secret_value") else value


MODEL = "cross-encoder/ms-marco-MiniLM-L-6-v2"
POSTGRES = "postgresql://elsewhere/logchord"


@pytest.mark.requirement("S1-63", "S1-64", "S1-65", "S1-66", "S1-68", "S1-69", "S1-70")
@pytest.mark.requirement("S1-71", "S1-72", "S1-73", "S1-74", "S1-77", "S1-78")
@pytest.mark.parametrize(
    ("variable", "field", "default", "other"),
    [
        ("RETRIEVER_PORT", "port", 8006, 9001),
        ("RETRIEVER_DEFAULT_METHOD", "search.default_method", "hybrid", "vector"),
        ("RETRIEVER_DEFAULT_LIMIT", "default_limit", 10, 20),
        ("RETRIEVER_MIN_RELEVANCE", "search.min_relevance_score", 0.5, 0.6),
        ("QDRANT_COLLECTION", "vector_table_prefix", "knowledge_base", "ours"),
        ("EMBEDDING_MODEL", "embedding_model", "bge-small-en-v1.5", "other"),
        ("ELASTICSEARCH_URL", "opensearch_url", None, "https://elsewhere:9200"),
        ("ELASTICSEARCH_INDEX", "opensearch_index", "knowledge_base", "ours"),
        ("RERANKER_MODEL", "reranking.model", MODEL, "other"),
        ("ENABLE_RERANKING", "reranking.enabled", True, False),
        ("ENABLE_SYNTHESIS", "synthesis.enabled", True, False),
        ("SYNTHESIS_MODEL", "synthesis.model", "gpt-3.5-turbo", "other"),
        ("SYNTHESIS_MAX_TOKENS", "synthesis.max_tokens", 500, 100),
        ("SYNTHESIS_MAX_SOURCES", "synthesis.max_sources", 5, 3),
        ("LOG_LEVEL", "log_level", "info", "debug"),
    ],
)
def test_a_variable_of_the_retriever_sets_our_field_and_beats_the_file(
    variable, field, default, other, nowhere
):
    assert value_of(load_report({"LOGCHORD_HOME": str(nowhere)}).settings, field) == (
        default
    )
    section, _, last = field.rpartition(".")
    unlike = {"log_level": "error", "opensearch_url": "off"}.get(field, default)
    line = f"{last}: '{unlike}'" if unlike == "off" else f"{last}: {unlike}"
    text = f"{section}: {{{line}}}" if section else line
    report = report_of(text, nowhere, **{variable: str(other)})
    assert value_of(report.settings, field) == other
    assert report.origins[field] == "environment"
    assert report.spelled[field] == variable


@pytest.mark.requirement("S1-67")
def test_a_qdrant_url_counts_when_it_is_postgres_and_is_named_when_it_is_not(nowhere):
    report = report_of("", nowhere, QDRANT_URL=POSTGRES)
    assert value_of(report.settings, "database_url") == POSTGRES
    assert report.warnings == ()
    report = report_of("", nowhere, QDRANT_URL="http://qdrant:6333")
    assert report.settings.database_url is None
    assert [text for text in report.warnings if text.startswith("QDRANT_URL in ")]
    report = report_of(
        "", nowhere, QDRANT_URL="http://qdrant:6333", DATABASE_URL=POSTGRES
    )
    assert value_of(report.settings, "database_url") == POSTGRES


@pytest.mark.requirement("S1-82", "S1-83", "S1-84")
def test_the_file_of_the_retriever_loads_as_it_is(nowhere):
    report = report_of(RETRIEVER_FILE, nowhere)
    plain = load_report({"LOGCHORD_HOME": str(nowhere)}).settings
    theirs = {
        "embedding_model": "all-MiniLM-L6-v2",
        "opensearch_url": "http://elasticsearch:9200",
        "search_modules.semantic.settings.embedding_dimension": 384,
    }
    for leaf in report.settings.leaves():
        expected = theirs.get(leaf.dotted, value_of(plain, leaf.dotted))
        assert value_of(report.settings, leaf.dotted) == expected, leaf.dotted
    assert [text for text in report.warnings if "vector_search.url" in text]
    assert report.spelled["rrf_k"] == "retriever_arm.fusion.k"


@pytest.mark.requirement("S1-82", "S1-83", "S1-84")
def test_each_key_of_that_file_sets_its_own_field(nowhere):
    for ours, theirs, text in (
        ("port", "port", "9001"),
        ("search.default_method", "default_method", "keyword"),
        ("default_limit", "default_limit", "20"),
        ("search.min_relevance_score", "min_relevance_score", "0.6"),
        ("database_url", "vector_search.url", POSTGRES),
        ("vector_table_prefix", "vector_search.collection", "ours"),
        ("embedding_model", "vector_search.embedding_model", "other"),
        ("opensearch_index", "keyword_search.index", "ours"),
        ("reranking.enabled", "reranking.enabled", "false"),
        ("reranking.model", "reranking.model", "other"),
        ("synthesis.enabled", "synthesis.enabled", "false"),
        ("synthesis.temperature", "synthesis.temperature", "0.9"),
        ("rrf_k", "fusion.k", "10"),
    ):
        for above in ("retriever_arm.", ""):
            parts = f"{above}{theirs}".split(".")
            if parts[-1] in {"default_method", "min_relevance_score"} and not above:
                continue
            nested = reduce(
                lambda inner, part: f"{{{part}: {inner}}}", parts[::-1], text
            )
            report = report_of(nested, nowhere)
            assert str(value_of(report.settings, ours)).lower() == text, parts
            assert report.origins[ours] == str(nowhere / "given.yaml")


@pytest.mark.requirement("S1-05")
def test_any_fusion_but_rrf_is_refused(nowhere):
    with pytest.raises(ConfigurationError, match=r"fusion\.method"):
        report_of("fusion: {method: borda}", nowhere)


@pytest.mark.parametrize(
    ("ours", "theirs", "text"),
    [
        ("VECTOR_TABLE_PREFIX", "QDRANT_COLLECTION", ("one", "other")),
        ("OPENSEARCH_URL", "ELASTICSEARCH_URL", ("off", "http://a:9200")),
        ("LOGCHORD_PORT", "RETRIEVER_PORT", ("1", "2")),
        ("DATABASE_URL", "QDRANT_URL", (POSTGRES, f"{POSTGRES}2")),
        ("LOGCHORD_RERANKING__ENABLED", "ENABLE_RERANKING", ("true", "false")),
    ],
)
def test_an_alias_and_its_name_with_different_values_are_refused_naming_both(
    ours, theirs, text
):
    with pytest.raises(ConfigurationError) as caught:
        load_report({ours: text[0], theirs: text[1]})
    assert ours in caught.value.message
    assert theirs in caught.value.message
    assert POSTGRES not in caught.value.message


def test_an_alias_and_its_name_in_one_file_are_refused_naming_both(nowhere):
    with pytest.raises(ConfigurationError, match=r"rrf_k.*fusion\.k|fusion\.k.*rrf_k"):
        report_of("rrf_k: 60\nfusion: {k: 10}\n", nowhere)


def test_an_alias_and_its_name_with_one_value_are_accepted(nowhere):
    report = report_of(
        "rrf_k: 10\nfusion: {k: 10}\n",
        nowhere,
        QDRANT_COLLECTION="ours",
        VECTOR_TABLE_PREFIX="ours",
    )
    assert (report.settings.rrf_k, report.settings.vector_table_prefix) == (10, "ours")


def test_logging_queries_as_text_is_accepted_with_a_warning(nowhere):
    for text in ("true", "false", "hash"):
        report = report_of("", nowhere, LOG_QUERIES=text)
        assert report.settings.log_queries == text
        assert any("queries is true" in told for told in report.warnings) is (
            text == "true"
        )


def test_a_secret_file_that_cannot_be_read_is_refused_by_its_variable(nowhere):
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY_FILE names"):
        load_report({"OPENAI_API_KEY_FILE": str(nowhere / "absent")})


def test_any_secret_can_come_from_a_file(nowhere):
    (nowhere / "dsn").write_text(f"{POSTGRES}\n")
    report = report_of("", nowhere, DATABASE_URL_FILE=str(nowhere / "dsn"))
    assert value_of(report.settings, "database_url") == POSTGRES
    with pytest.raises(ConfigurationError, match="LOGCHORD_PORT_FILE"):
        load_report({"LOGCHORD_PORT_FILE": str(nowhere / "dsn")})


@pytest.mark.requirement("S0-31", "S0-39")
def test_the_search_modules_of_the_older_service_parse(nowhere):
    settings = report_of(
        """
search_modules:
  keyword:
    enabled: true
  semantic:
    enabled: true
    provider: ollama
    model: nomic-embed-text
    settings:
      similarity_threshold: 0.7
      embedding_dimension: 768
""",
        nowhere,
    ).settings
    assert settings.search_modules.keyword.enabled
    semantic = settings.search_modules.semantic
    assert (semantic.enabled, semantic.provider) == (True, "ollama")
    assert semantic.settings.similarity_threshold == 0.7
    assert semantic.settings.embedding_dimension == 768
    # One setting says which model embeds, under both names.
    assert settings.embedding_model == "nomic-embed-text"


@pytest.mark.requirement("S0-61", "S0-62")
def test_its_pipelines_and_its_reasoning_parse(nowhere):
    settings = report_of(
        """
pipelines:
  rag:
    enabled: true
    retrieval_modules: [keyword, semantic]
reasoning:
  provider: cborg
  model_id: anthropic/claude-haiku
  temperature: 0.1
""",
        nowhere,
    ).settings
    assert settings.pipelines.rag.enabled
    assert settings.pipelines.rag.retrieval_modules == ("keyword", "semantic")
    assert settings.reasoning.provider == "cborg"
    assert settings.reasoning.model_id == "anthropic/claude-haiku"
    assert settings.reasoning.temperature == 0.1
    assert report_of("", nowhere).settings.reasoning.provider is None


@pytest.mark.requirement("S0-73")
@pytest.mark.parametrize(
    "above",
    ["reasoning: {", "pipelines: {agent: {", "pipelines: {agent: {reasoning: {"],
)
def test_the_limits_of_an_agent_parse_in_every_place(above, nowhere):
    inner = "max_iterations: 3, temperature: 0.2, total_timeout_seconds: 60"
    text = f"{above}{inner}{'}' * above.count('{')}"
    reasoning = report_of(text, nowhere).settings.reasoning
    assert reasoning.max_iterations == 3
    assert reasoning.temperature == 0.2
    assert reasoning.total_timeout_seconds == 60
    given = "pipelines: {agent: {enabled: off, retrieval_modules: [keyword]}}"
    agent = report_of(given, nowhere).settings.pipelines.agent
    assert (agent.enabled, agent.retrieval_modules) == (False, ("keyword",))
    shipped = report_of("", nowhere).settings
    reasoning = shipped.reasoning
    assert (reasoning.max_iterations, reasoning.total_timeout_seconds) == (5, 120)
    assert reasoning.temperature == 0.1
    assert shipped.pipelines.agent.enabled


def test_the_validation_threshold_of_agentic_search_is_a_setting(nowhere):
    assert report_of("", nowhere).settings.agentic.validation_threshold == 0.25
    given = report_of("agentic: {validation_threshold: 0.4}", nowhere)
    assert given.settings.agentic.validation_threshold == 0.4


@pytest.mark.parametrize(
    "text",
    [
        "unified_search: {enabled: false, base_domain_weights: {device: 2}}",
        "AdvisoryAI: {UnifiedSearch: {Enabled: no, BaseDomainWeights: {Device: 2}}}",
        "'AdvisoryAI:UnifiedSearch': {enabled: no, baseDomainWeights: {device: 2}}",
    ],
)
def test_unified_search_parses_under_both_names_in_either_case(text, nowhere):
    unified = report_of(text, nowhere).settings.unified_search
    assert not unified.enabled
    assert unified.base_domain_weights == {"device": 2.0}


@pytest.mark.requirement("S4-83")
def test_an_unknown_domain_is_refused_at_start(nowhere):
    assert report_of("", nowhere).settings.unified_search.base_domain_weights == {}
    with pytest.raises(ConfigurationError, match="BaseDomainWeights"):
        report_of(
            "AdvisoryAI: {UnifiedSearch: {BaseDomainWeights: {Loogbook: 2}}}", nowhere
        )


@pytest.mark.requirement("C35")
def test_entries_are_of_eight_kinds_and_each_may_weigh(nowhere):
    kinds = [
        *("logbook", "shift_summary", "procedure", "maintenance"),
        *("incident", "device", "attachment", "ops_memory"),
    ]
    assert list(KINDS) == kinds
    weights = ", ".join(f"{kind}: 1.5" for kind in kinds)
    given = report_of(
        f"unified_search: {{base_domain_weights: {{{weights}}}}}", nowhere
    )
    assert given.settings.unified_search.base_domain_weights == dict.fromkeys(
        kinds, 1.5
    )


@pytest.mark.requirement("S4-86")
def test_flags_of_tenants_parse_and_a_tenant_keeps_its_name(nowhere):
    settings = report_of(
        """
AdvisoryAI:
  UnifiedSearch:
    SearchTelemetryEnabled: false
    Session: {InactivitySeconds: 60}
    Synthesis: {QuotaPerDay: 1}
    TenantFeatureFlags:
      TenantA: {Enabled: false, FederationEnabled: true, SynthesisEnabled: false}
tenants: {TenantB: {enabled: true}}
""",
        nowhere,
    ).settings
    assert set(settings.tenants) == {"TenantA", "TenantB"}
    first = settings.tenants["TenantA"]
    assert (first.enabled, first.federation_enabled) == (False, True)
    assert not first.synthesis_enabled
    other = settings.tenants["TenantB"]
    assert (other.enabled, other.synthesis_enabled) == (True, True)
    assert not settings.telemetry.enabled
    assert settings.session.inactivity_seconds == 60
    assert settings.synthesis.quota_per_day == 1


@pytest.mark.requirement("S4-85")
def test_each_section_of_unified_search_has_a_key_that_is_documented(nowhere):
    settings = report_of(
        """
AdvisoryAI:
  UnifiedSearch:
    Federation: {Enabled: true}
    GravityBoost: {MaxFactor: 1.3}
    Synthesis: {QuotaPerMinute: 3}
    Ingestion: {Enabled: false}
    Session: {InactivitySeconds: 61}
""",
        nowhere,
    ).settings
    unified = settings.unified_search
    assert (unified.federation.enabled, unified.ingestion.enabled) == (True, False)
    assert unified.gravity_boost.max_factor == 1.3
    assert settings.synthesis.quota_per_minute == 3
    assert settings.session.inactivity_seconds == 61
    reference = Path(__file__).parents[3] / "docs/reference/settings.md"
    listed = reference.read_text("utf-8")
    for name in (
        "unified_search.federation.enabled",
        "unified_search.gravity_boost.max_factor",
        "synthesis.quota_per_minute",
        "unified_search.ingestion.enabled",
        "session.inactivity_seconds",
    ):
        assert f"`{name}`" in listed


def test_variables_of_unified_search_parse(nowhere):
    settings = report_of("", nowhere, AdvisoryAI__UnifiedSearch__Enabled="false")
    assert not settings.settings.unified_search.enabled


def test_a_value_that_nothing_acts_on_yet_is_answered_with_a_warning(nowhere):
    text = "tenants: {a: {federation_enabled: on, synthesis_enabled: off}}"
    (told,) = report_of(text, nowhere).warnings
    assert "tenants.a.federation_enabled" in told
    assert "synthesis_enabled" not in told


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("pipelines: {rag: {enabled: true}}", []),
        (
            "pipelines: {agent: {enabled: on, retrieval_modules: [keyword, semantic]}}",
            [],
        ),
        ("telemetry: {enabled: false}", []),
        ("pipelines: {rag: {retrieval_modules: [keyword, semantic]}}", []),
        ("", []),
        ("unified_search: {federation: {enabled: false}}", []),
        (
            "unified_search: {federation: {enabled: true}}",
            ["unified_search.federation.enabled"],
        ),
        (
            "unified_search: {ingestion: {enabled: true}}",
            ["unified_search.ingestion.enabled"],
        ),
    ],
)
def test_who_switches_an_unbuilt_feature_on_is_warned_whatever_the_default(
    text, named, nowhere
):
    told = " ".join(report_of(text, nowhere).warnings)
    assert [name for name in setting_names.WITHOUT_EFFECT if name in told] == [
        name.removesuffix(".enabled") for name in named
    ]
    assert all(name in told for name in named)


@pytest.mark.parametrize("section", ["KnowledgeSearch", "UnifiedSearch"])
def test_telemetry_is_switched_off_by_the_key_of_either_section(section, nowhere):
    text = f"AdvisoryAI: {{{section}: {{SearchTelemetryEnabled: false}}}}"
    assert not report_of(text, nowhere).settings.telemetry.enabled


def test_every_alias_ends_at_a_setting():
    settings = load_report({"OPENAI_API_KEY": "x"}).settings
    sections = {alias.rpartition(".")[0] for alias in setting_names.ALIASES}
    for name in (*setting_names.ALIASES, *setting_names.ENVIRONMENT_ALIASES.values()):
        end = ".".join(setting_names.canonical(tuple(name.split("."))))
        # An alias of a whole section may end where its keys part ways.
        if end not in sections:
            value_of(settings, end)
    for part in setting_names.WITHOUT_EFFECT:
        value_of(settings, part)


@pytest.mark.requirement("S0-42")
def test_a_plug_in_is_off_until_asked_for_and_its_keys_are_checked(
    nowhere, monkeypatch
):
    info = nowhere / "site/third_party-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\n")
    (info / "entry_points.txt").write_text(
        "[logchord.search_modules]\nregex = third_party.regex\n"
    )
    monkeypatch.setattr(sys, "path", [str(nowhere / "site"), *sys.path])
    assert report_of("", nowhere).settings.search_modules.plugins == {}
    given = report_of("search_modules: {regex: {enabled: true}}", nowhere)
    assert given.settings.search_modules.plugins["regex"].enabled
    off = report_of("search_modules: {regex: {enabled: false}}", nowhere)
    assert not off.settings.search_modules.plugins["regex"].enabled
    for text, named in (
        ("search_modules: {regexp: {enabled: true}}", "search_modules.regexp"),
        ("search_modules: {pg_fts: {enabled: true}}", "search_modules.pg_fts"),
        ("search_modules: {regex: {enable: true}}", "search_modules.regex.enable"),
        (
            "search_modules: {regex: {retrieval_modules: []}}",
            "search_modules.regex.retrieval_modules",
        ),
        ("search_modules: {keyword: {enable: true}}", "search_modules.keyword.enable"),
        ("search_module: {keyword: {enabled: true}}", "search_module.keyword.enabled"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            report_of(text, nowhere)
        assert caught.value.message.startswith(f"{named} in ")
