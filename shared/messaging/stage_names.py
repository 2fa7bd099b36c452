"""The stages of this release, by the names that due work has in Postgres."""

METADATA_STAGE = "metadata"
ATTACHMENTS_STAGE = "attachments"  # of entries with files alone
DUPLICATES_STAGE = "duplicates"  # due when the text of an entry has been read
INDEX_STAGE = "index"
ALERT_STAGE = "alert"  # of entries that some saved search may be told of
DIGEST_STAGE = "digest"  # what a text is about
# Until these have run, no entry is found by its words.
FOUND_BY = (METADATA_STAGE, INDEX_STAGE)
EMBED_PREFIX = "embed:"


def embed_stage(model: str) -> str:
    """Return the stage that makes the vectors of one model due."""
    return f"{EMBED_PREFIX}{model}"
