"""Which task works a stage, and who serves its queue."""

import pytest

from shared.messaging import stage_names, task_names
from workers.runtime.worker_kinds import KINDS


def test_every_queue_that_is_published_to_is_served_by_some_kind_of_worker():
    assert {queue for kind in KINDS for queue in kind.queues} >= task_names.QUEUES


@pytest.mark.parametrize(
    ("stage", "task", "first"),
    [
        ("metadata", task_names.EXTRACT_METADATA, ()),
        ("index", task_names.INDEX_ENTRIES, ()),
        (stage_names.embed_stage("a:b"), task_names.EMBED_ENTRIES, ("a:b",)),
    ],
)
def test_a_stage_names_its_task_and_what_it_takes_first(stage, task, first):
    assert task_names.task_of(stage) == (task, first)
