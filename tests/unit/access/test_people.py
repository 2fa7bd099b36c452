"""What people may do by their groups, and what an agent may do for them."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from shared.access.group_rights import find_rights, read_people
from shared.access.scope import Scope
from shared.errors import AccessError
from shared.settings.sections import PeopleSettings
from shared.settings.settings import Settings

PEOPLE = PeopleSettings.model_validate(
    {
        "groups": {
            "operators": {},
            "rf": {"scopes": ["read", "ingest"], "logbooks": ["RF"]},
            "vacuum": {"scopes": ["read"], "logbooks": ["Vacuum", "RF"]},
            "chiefs": {"scopes": ["admin"], "logbooks": ["Shift"]},
            "guests": {"scopes": []},
        },
        "default": {"scopes": ["read"], "logbooks": ["Open"]},
    }
)


@pytest.mark.requirement("U22")
@pytest.mark.parametrize(
    ("groups", "needed", "allowed", "logbooks"),
    [
        (["operators"], "search", "read search", None),
        (["rf"], "ingest", "ingest read", ("RF",)),
        (["vacuum", "rf"], "read", "ingest read", ("RF", "Vacuum")),
        # The right of one group holds in no logbook of another.
        (["vacuum", "rf"], "ingest", "ingest read", ("RF",)),
        (["operators", "rf"], "ingest", "ingest read search", ("RF",)),
        (["operators", "rf"], "read", "ingest read search", None),
        (["operators", "rf"], "admin", "ingest read search", ()),
        (["rf", "chiefs"], "ingest", "admin ingest read", ("RF", "Shift")),
        (["rf", "chiefs"], "admin", "admin ingest read", ("Shift",)),
        (["elsewhere", "rf"], "read", "ingest read", ("RF",)),
        (["elsewhere"], "read", "read", ("Open",)),
        ([], "read", "read", ("Open",)),
    ],
)
def test_what_groups_may_adds_up_each_in_its_own_logbooks(
    groups: list[str], needed: str, allowed: str, logbooks: tuple[str, ...] | None
) -> None:
    found = find_rights(PEOPLE, "anna", groups, needed)
    assert (sorted(found.allowed), found.logbooks) == (allowed.split(), logbooks)
    assert found.groups == tuple(groups)


@pytest.mark.requirement("U22")
def test_a_group_that_may_nothing_is_not_given_the_default() -> None:
    with pytest.raises(AccessError, match="anna is in none of the groups"):
        find_rights(PEOPLE, "anna", ["guests"])


ANNA = Scope(
    "default",
    "anna",
    groups=("rf", "ops"),
    logbooks=("A", "B"),
    allowed=frozenset({"read", "search"}),
    is_person=True,
)


@pytest.mark.requirement("U22")
@pytest.mark.parametrize(
    ("key", "allowed", "logbooks", "principals"),
    [
        (Scope("default", "bot"), "", ("A", "B"), []),
        (
            Scope("default", "bot", ("ops", "x"), allowed=frozenset({"admin"})),
            "read search",
            ("A", "B"),
            ["ops"],
        ),
        (
            Scope("default", "anna", logbooks=("B", "C"), allowed=frozenset({"read"})),
            "read",
            ("B",),
            ["anna"],
        ),
        (Scope("default", "*", everywhere=True), "", ("A", "B"), []),
    ],
)
def test_an_agent_that_acts_for_somebody_may_what_both_may(
    key: Scope, allowed: str, logbooks: tuple[str, ...], principals: list[str]
) -> None:
    key = replace(key, key_id="0123456789ab")
    both = key.narrow_to(ANNA)

    assert (sorted(both.allowed), both.logbooks) == (allowed.split(), logbooks)
    assert both.params["principals"] == principals
    assert (both.subject, both.groups) == (ANNA.subject, ANNA.groups)
    assert not both.everywhere
    # Neither the key alone nor the person alone is asked of a cache, or a cursor.
    assert both.caller not in {key.caller, ANNA.caller}
    assert ANNA.sees_all_of(both)
    assert key.sees_all_of(both)


@pytest.mark.requirement("U22")
def test_an_agent_of_another_facility_acts_for_nobody_here() -> None:
    with pytest.raises(AccessError) as caught:
        Scope("psi", "bot").narrow_to(ANNA)
    assert caught.value.error_code == "scope_missing"


@pytest.mark.requirement("U22")
def test_a_change_of_the_file_counts_at_once_and_a_wrong_one_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "logchord.yaml"
    monkeypatch.setenv("LOGCHORD_CONFIG", str(file))
    file.write_text("people: {groups: {rf: {}}}\n")
    settings = Settings.load(os.environ)
    assert set(read_people(settings).groups) == {"rf"}

    for written, groups in {
        "people: {groups: {vacuum: {}}}": {"vacuum"},
        "people: {groups: [": {"vacuum"},
        "{}": set(),
    }.items():
        file.write_text(written)
        assert set(read_people(settings).groups) == groups
