"""Every statement on what belongs to a tenant names the tenant."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TENANT = "%(tenant)s"

# These serve every tenant alike, and show nobody anything.
FOR_EVERY_TENANT = {
    # A backup is of the whole installation, and so is what is put back.
    ("api/cli/backup/dump_database.py", "_FACTS"),
    ("api/cli/backup/dump_database.py", "_FILES"),
    ("api/cli/backup/fill_database.py", "_HELD"),
    ("api/cli/backup/fill_database.py", "_PURGED"),
    ("api/cli/backup/fill_database.py", "_END"),
    # A key is found by its own digest; it says which tenant its caller is.
    ("shared/access/keys.py", "_FIND"),
    # Each row says whose it is.
    ("shared/access/audit_records.py", "_STORE"),
    # Answers whose time is over are forgotten, whoever asked.
    ("shared/access/idempotency.py", "_FORGET"),
    ("shared/work/expiry.py", "_MESSAGES"),
    # What people said and asked for is forgotten by age, whoever's it is.
    ("shared/search/quality/event_partitions.py", "_EXPIRE_FEEDBACK"),
    # The index is compared with every entry, whoever's it is; each keeps its tenant.
    ("shared/opensearch/compare_index.py", "_DAYS"),
    ("shared/opensearch/compare_index.py", "_ROWS"),
    ("shared/opensearch/compare_index.py", "_NEXT"),
    ("shared/entries/reading/entry_counts.py", "_COUNT"),
    ("shared/opensearch/fill_index.py", "_WAS_INDEXED"),
    # One index holds every entry, and is made anew for all of them.
    ("shared/opensearch/rebuild.py", "_EARLIER_CLAIMS"),
    ("shared/work/backlog.py", "_EARLIER"),
    ("shared/work/backlog.py", "_ANY_DUE"),
    ("shared/work/backlog.py", "_ANY_LIVE"),
    ("shared/opensearch/rebuild.py", "_LAST"),
    ("shared/opensearch/rebuild.py", "_PAGE"),
    ("shared/opensearch/sample_searches.py", "_ENDS"),
    ("shared/opensearch/sample_searches.py", "_FROM"),
    ("shared/opensearch/sample_searches.py", "_TEXTS"),
    # How large scores are is a number of the index, which holds every entry.
    ("shared/search/retrieval/score_scale.py", "_TEXTS"),
    ("shared/search/retrieval/score_scale.py", "_RANKED"),
    # Embedded for another model whoever's it is; each keeps its tenant.
    ("shared/embedding/switch/reembed.py", "_PAGE"),
    ("shared/embedding/switch/reembed.py", "_ASIDE"),
    ("shared/embedding/vectors/not_embedded.py", "_PAGE"),
    ("shared/embedding/vectors/model_registry.py", "_SKIPPED"),
    ("shared/embedding/switch/second_model.py", "_IS_NEEDED"),
    ("shared/embedding/switch/reembed.py", "_DUE"),
    ("shared/entries/reading/entry_counts.py", "_UNDELETED"),
    # A model is dropped for everybody.
    ("shared/embedding/switch/switch_model.py", "_END_WORK"),
    ("shared/embedding/switch/switch_model.py", "_END_ASIDE"),
    ("shared/embedding/switch/switch_model.py", "_END_CUT"),
    ("shared/embedding/switch/switch_model.py", "_END_INPUT"),
    # Read anew whoever's it is; each keeps its tenant.
    ("shared/enrich/reanalyse.py", "_PAGE"),
    ("shared/enrich/reanalyse.py", "_LACKING"),
    # Words are counted whoever's entries have them; each keeps its tenant.
    ("shared/enrich/recount_vocabulary.py", "_PAGE"),
    ("shared/stages/derived_data.py", "_PAGE"),
    ("shared/stages/stage_versions.py", "_LAST"),
    ("shared/stages/stage_versions.py", "_PAGE"),
    ("shared/vocabulary/word_counts.py", "_COUNT_WORDS"),
    ("shared/vocabulary/word_counts.py", "_COUNT_NAMES"),
    # Stages work through what is due, named by entry and claim.
    ("shared/work/due_work.py", "_LIVE_THEN_BULK"),
    ("shared/work/due_work.py", "_NAMED"),
    ("shared/work/due_work.py", "_TAKE"),
    ("shared/work/due_work.py", "_LOCK_CLAIM"),
    ("shared/work/due_work.py", "_RENEW"),
    ("shared/work/due_work.py", "_FINISH"),
    ("shared/work/due_work.py", "_RETRY_LATER"),
    ("shared/work/due_work.py", "_PUT_OFF"),
    ("shared/work/due_work.py", "_RELEASE"),
    ("shared/work/due_work.py", "KNOWN_STAGES"),
    ("shared/work/due_work.py", "_LATE_OF_KNOWN"),
    ("shared/work/due_work.py", "_LOCK_OURS"),
    ("shared/work/due_work.py", "_SPENT"),
    ("shared/work/quarantine.py", "_END_ROW"),
    ("shared/work/quarantine.py", "_RELEASE_ROW"),
    # A message that cannot be read does not say whose it is.
    # How far a stage is behind is a number of the installation.
    ("shared/work/lag.py", "_COUNTS_OF_KNOWN"),
    ("shared/work/lag.py", "_LIVE_OF_KNOWN"),
    ("shared/work/lag.py", "_WATERMARKS"),
    # Keys that were used, whosever they are.
    ("shared/access/keys.py", "_NOTE_USE"),
    # The same bytes lie once, whoever has them; a file goes with its last row.
    ("shared/enrich/attachments/attachment_states.py", "_IS_USED"),
    ("shared/enrich/attachments/attachment_states.py", "_UNUSED"),
    # The name of a source is the installation's, its runs end whosever they are.
    ("shared/work/schedule.py", "_DUE_OF_SOURCES"),
    ("shared/sources/runs/sync_config.py", "_KNOWN"),
    ("shared/sources/run_records.py", "_FORGET"),
    ("shared/sources/source_state.py", "_OF_SOURCE"),
    ("shared/sources/source_state.py", "_SETTINGS"),
    ("shared/sources/current_settings.py", "_MARKS"),
    # Kept for every facility, and told to each of its own alone.
    ("shared/sources/known_sources.py", "_STATES"),
    # Upkeep ends the jobs that nobody closed.
    ("shared/search/jobs/close_job.py", "_OVERDUE"),
    # A message names a job alone; its row says whose it is. Turns whose workers are
    # gone are taken up, and old ones forgotten, whoever asked.
    ("shared/agents/turn_rows.py", "_JOB"),
    ("shared/agents/turn_rows.py", "_LEFT_ALONE"),
    ("shared/agents/turn_rows.py", "_NOT_TAKEN"),
    ("shared/agents/turn_rows.py", "_FORGET"),
    # Vectors are made, and alerts sent, whoever's they are; each keeps its tenant.
    ("shared/watch/saved_searches.py", "_WITHOUT_VECTOR"),
    ("shared/watch/alert_rows.py", "_ARE_DUE"),
    ("shared/watch/alert_rows.py", "_CLAIM"),
}


def tenant_tables() -> list[str]:
    found = []
    for path in sorted((ROOT / "migrations").glob("*.sql")):
        created = re.finditer(
            r"CREATE TABLE (\w+) \((.*?)\n\)", path.read_text("utf-8"), re.DOTALL
        )
        found += [one[1] for one in created if re.search(r"(?m)^\s+tenant ", one[2])]
    return found


def statements() -> Iterator[tuple[str, str, str]]:
    """File, constant and text of every statement that touches such a table."""
    names = "|".join(tenant_tables())
    touches = re.compile(
        rf"(?i)\b(?:from|join|into|update)\s+(?:only\s+)?(?:{names})\b"
    )
    does = re.compile(r"(?i)\b(?:select|insert|update|delete)\b")
    for folder in ("shared", "workers", "api"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name, text in texts(ast.parse(path.read_text("utf-8"))):
                if does.search(text) and touches.search(text):
                    yield path.relative_to(ROOT).as_posix(), name, text


def texts(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each constant of a module as one text, and each string inside its functions."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target), " ".join(strings(node.value))
        else:
            yield from (("inside a function", text) for text in strings(node))


def strings(node: ast.AST) -> list[str]:
    return [
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]


FOUND = list(statements())


@pytest.mark.parametrize(
    ("path", "name", "text"), FOUND, ids=[f"{path}:{name}" for path, name, _ in FOUND]
)
def test_a_statement_names_the_tenant(path, name, text):
    assert TENANT in text or (path, name) in FOR_EVERY_TENANT


def test_each_exception_is_one():
    without = {(path, name) for path, name, text in FOUND if TENANT not in text}
    assert without == FOR_EVERY_TENANT


def test_the_search_for_statements_finds_them():
    assert {"entry", "revision", "work", "job"} <= set(tenant_tables())
    assert len(FOUND) > 40
