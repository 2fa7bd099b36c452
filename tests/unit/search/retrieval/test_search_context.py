"""What searches, answers and agents are built from: given to them, shared by none."""

import time
from dataclasses import MISSING, fields
from typing import cast

import pytest

from shared.agents.ask_model import AgentProcess
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.postgres.pool import Pool
from shared.search.retrieval import search_context
from shared.settings.settings import Settings
from shared.text.facility.facility import PLAIN


def context_of(index: str, encoder: HashingEncoder) -> search_context.SearchContext:
    settings = Settings.load({"OPENSEARCH_INDEX": index})
    return search_context.make_search_context(
        settings,
        # Its database, which nothing asks before a search does.
        pool=cast("Pool", object()),
        now=time.time,
        signer=search_context.no_signer,
        facility=PLAIN,
        opensearch=search_context.no_opensearch,
        encoder=lambda _: encoder,
    )


@pytest.mark.requirement("S0-06")
def test_two_that_search_share_neither_what_they_were_given_nor_what_they_keep():
    mine, theirs = (context_of(name, HashingEncoder()) for name in ("mine", "theirs"))

    assert (mine.index, theirs.index) == ("mine", "theirs")
    assert mine.pool is not theirs.pool
    assert mine.encoder("any") is not theirs.encoder("any")
    kept = [
        one.name
        for one in fields(search_context.SearchContext)
        if one.default_factory is not MISSING or not one.init
    ]
    assert {"circuits", "models", "query_vectors"} <= {*kept}
    for name in (*kept, "sizes", "present", "written_in", "sources"):
        assert getattr(mine, name) is not getattr(theirs, name), name
    # An agent has its repository, its settings and its model from its process.
    needed = {one.name for one in fields(AgentProcess) if one.default is MISSING}
    assert {"pool", "context", "model", "bounds", "temperature"} <= needed
