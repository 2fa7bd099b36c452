"""What is typed behind `logchord search`: words, also behind a minus, and options."""

import click
import pytest

from api.cli.main import cli
from api.cli.output import Output
from tests.support.typed import ending

pytestmark = pytest.mark.usefixtures("folder")


JOB = "019d0000-0000-7000-8000-000000000001"


def parsed(*arguments: str) -> dict[str, object]:
    """What the command takes from a line as it is typed."""
    context = click.Context(cli, obj=Output(), **cli.context_settings)
    command = cli.get_command(context, "search")
    assert command is not None
    return command.make_context("search", list(arguments), parent=context).params


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("beam", "-injection"), ("beam", "-injection")),
        (("-injection", "beam"), ("-injection", "beam")),
        (("beam", "-hot", "--limit", "3"), ("beam", "-hot")),
        (("--limit=3", "beam", "-beach", "--strict", "x"), ("beam", "-beach", "x")),
        (("beam", "-5", "-", "mA", "--limit", "3"), ("beam", "-5", "-", "mA")),
        (('-"magnet trip" beam', "--limit", "3"), ('-"magnet trip" beam',)),
        (("-limit", "--limit", "3"), ("-limit",)),
        (("--limit", "3", "--", "beam", "--debug", "-x"), ("beam", "--debug", "-x")),
    ],
)
def test_a_word_behind_a_minus_reaches_the_question(arguments, words) -> None:
    taken = parsed(*arguments)
    assert taken["words"] == words
    assert taken["debug"] is False
    assert taken["limit"] == (3 if any("limit" in one for one in arguments) else 10)


def test_a_value_may_begin_with_a_minus() -> None:
    taken = parsed("--filter", "-x=1", "beam", "--threshold", "-1")
    assert (taken["filters"], taken["min_relevance_score"]) == (("-x=1",), -1.0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("search", "beam", "--limt", "3"), "--limit"),
        (("search", "beam", "-n", "5"), "NOT n"),
        (("search", "beam", "-d"), "--debug"),
        (("search", "beam", "--limit"), "'--limit' requires an argument"),
        (("serach", "beam"), "search"),
        (("jobs", "shwo"), "show"),
        (("show", "-x"), "No such option"),
        (("search",), "what to search for"),
        (("search", ""), "what to search for"),
        (("search", "", " ", "--job"), "what to search for"),
        (("ask",), "Say what to ask"),
        (("ask", ""), "Say what to ask"),
        (("ask", " ", "\t"), "Say what to ask"),
        (("search", "x", "--job", "--export", "csv"), "one of them"),
        (("search", "x", "--job", "--why", "OPS-1"), "one of them"),
        (("search", JOB, "--job", "--limit", "3"), "--limit: a job is shown as"),
        (("search", "x", "--export", "csv", "--limit", "3"), "leave --limit out"),
        (("search", "x", "--url", "nonsense"), "http://HOST:PORT"),
        (("search", "x", "--url", "ftp://there"), "http://HOST:PORT"),
        (("search", "x", "--key", "\u00e4"), "no key has"),
        (("search", "x\udcff"), "no UTF-8"),
        (("show", "x\udcff"), "no UTF-8"),
    ],
)
def test_what_is_typed_wrongly_is_refused_and_the_nearest_named(
    arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ending(*arguments) == 2
    printed = capsys.readouterr()
    assert told in printed.err
    assert printed.out == ""


def test_an_option_with_one_minus_is_a_word_and_says_so(capsys) -> None:
    parsed("beam", "-strict")
    assert "the option is --strict" in capsys.readouterr().err


def test_a_text_to_analyse_may_hold_a_minus(capsys) -> None:
    assert ending("tokens", "current", "-5", "mA") == 0
    assert "current" in capsys.readouterr().out


def test_help_is_help_wherever_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending("search", "beam", "-h") == 0
    assert "--explain" in capsys.readouterr().out
