"""`logchord models` and `reembed`, as a terminal runs them."""

import json
from collections.abc import Callable
from typing import NamedTuple

import pytest

from api.cli.main import main
from shared.embedding.vectors import vector_tables
from workers.tasks import chores

NEW = "hashing-128"


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    code: int | str | None
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(database, monkeypatch, capsys) -> Run:
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv("EMBEDDING_MODEL", "hashing-64")

    def run(*words: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        printed = capsys.readouterr()
        return Ended(ended.value.code, printed.out, printed.err)

    return run


def test_a_model_is_filled_activated_listed_and_dropped_from_the_terminal(
    run, committing, make_context
):
    assert "No entry" in run("models").out
    vector_tables.ensure_table(committing, "test", "hashing-64", 64)

    begun = run("reembed", NEW, "--activate", "--no-wait", "--json")
    again = run("reembed", NEW, "--no-wait")

    assert json.loads(begun.out)["kind"] == "reembed_model"
    assert "under way already" in again.err
    ctx = make_context()
    for _ in range(5):
        committing.execute("UPDATE maintenance SET due_at = now(), leased_until = NULL")
        chores.reembed_model(ctx)
    lines = run("models").out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["hashing-64", "filled"],
        [NEW, "live"],
    ]
    refused = run("reembed", NEW, "--drop")
    assert refused.code != 0
    assert "activate another" in refused.err
    committing.execute(
        "UPDATE embedding_model SET retired_at = now() - interval '1 hour'"
    )
    assert "are deleted" in run("reembed", "hashing-64", "--drop").out
    assert [one.model for one in vector_tables.list_models(committing)] == [NEW]


def test_one_under_way_is_stopped_and_what_is_no_model_is_refused(run, committing):
    assert run("reembed", NEW, "--no-wait").code == 0

    stopped = run("reembed", "--stop")

    assert "cancelled" in stopped.out
    assert run("reembed", "--stop").code == 3
    assert run("reembed", "nonsense", "--no-wait").code != 0
    assert run("reembed").code == 2
