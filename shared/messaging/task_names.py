"""Names of tasks and queues, and which task works a stage, a chore or a run."""

from shared.messaging import stage_names

EXTRACT_METADATA = "enhance.extract_metadata"
EXTRACT_ATTACHMENT = "enhance.extract_attachment"
PLACE_ENTRIES = "enhance.place_entries"
EMBED_ENTRIES = "enhance.embed_entries"
RUN_STAGE = "enhance.run_stage"
INDEX_ENTRIES = "index.index_entries"
MATCH_ENTRIES = "alert.match_entries"
DELIVER_ALERTS = "alert.deliver"
RUN_BRANCH = "search.run_branch"
END_SEARCH = "answer.end_search"
TAKE_AGENT_TURN = "answer.take_agent_turn"
SYNTHESIZE = "answer.synthesize"
POLL_SOURCE = "ingest.poll_source"
RECONCILE_SOURCE = "chores.reconcile_source"
REPARSE_SOURCE = "chores.reparse_source"
EXPIRE = "chores.expire"
RECONCILE_INDEX = "chores.reconcile_index"
REBUILD_INDEX = "chores.rebuild_index"
REBUILD_KNOWLEDGE = "chores.rebuild_knowledge"
REEMBED_MODEL = "chores.reembed_model"
REMOVE_FILES = "chores.remove_files"
RETIRE_ENTRIES = "chores.retire_entries"
RENEW_TEXTS = "chores.renew_texts"
COUNT_WORDS = "chores.count_words"
MINE_GLOSSARY = "chores.mine_glossary"

# Flower sees those of submitted searches alone: see `fan_out.WATCHED`.
OF_SEARCHES = frozenset({RUN_BRANCH, END_SEARCH, SYNTHESIZE, TAKE_AGENT_TURN})

_CHORES = (
    *(RECONCILE_SOURCE, REPARSE_SOURCE, EXPIRE, RECONCILE_INDEX, REBUILD_INDEX),
    *(REEMBED_MODEL, REMOVE_FILES, RETIRE_ENTRIES, RENEW_TEXTS, COUNT_WORDS),
    *(REBUILD_KNOWLEDGE, MINE_GLOSSARY),
)
QUEUE_OF = {
    EXTRACT_METADATA: "enhance.metadata",
    EXTRACT_ATTACHMENT: "enhance.metadata",
    PLACE_ENTRIES: "enhance.metadata",
    EMBED_ENTRIES: "enhance.embed",
    RUN_STAGE: "enhance.metadata",
    INDEX_ENTRIES: "index",
    MATCH_ENTRIES: "alert",
    DELIVER_ALERTS: "alert",
    RUN_BRANCH: "search",
    END_SEARCH: "answer",
    TAKE_AGENT_TURN: "answer",
    SYNTHESIZE: "answer",
    POLL_SOURCE: "ingest",
    **dict.fromkeys(_CHORES, "chores"),
}

# What reads all that match has a process of its own: no reader waits behind it.
SEARCH_QUEUE, WIDE_SEARCH_QUEUE = QUEUE_OF[RUN_BRANCH], "search.bulk"
QUEUES = {*QUEUE_OF.values(), WIDE_SEARCH_QUEUE}

_TASK_OF_RUN = {"reconcile": RECONCILE_SOURCE, "reparse": REPARSE_SOURCE}

# Whatever else is due is a stage that finds things, by its name.
_TASK_OF_STAGE = {
    stage_names.METADATA_STAGE: EXTRACT_METADATA,
    stage_names.ATTACHMENTS_STAGE: EXTRACT_ATTACHMENT,
    stage_names.DUPLICATES_STAGE: PLACE_ENTRIES,
    stage_names.INDEX_STAGE: INDEX_ENTRIES,
    stage_names.ALERT_STAGE: MATCH_ENTRIES,
}


def task_of(stage: str) -> tuple[str, tuple[str, ...]]:
    """Return the task of a stage, and its arguments before the ids."""
    if stage.startswith(stage_names.EMBED_PREFIX):
        return EMBED_ENTRIES, (stage.removeprefix(stage_names.EMBED_PREFIX),)
    if stage in _TASK_OF_STAGE:
        return _TASK_OF_STAGE[stage], ()
    return RUN_STAGE, (stage,)


def chore_task(kind: str) -> str:
    """Return the task that does a kind of chore, if this release has one."""
    return f"chores.{kind}"


def run_task(kind: str) -> str:
    """Return the task that goes on with a kind of run of a source."""
    return _TASK_OF_RUN.get(kind, POLL_SOURCE)
