"""Documents cannot lie: what they name exists, and promises rest on marked tests."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest

from api.cli import main as command_line
from api.cli.search.question_words import QuestionCommand
from shared.error_codes import CODES
from shared.settings import setting_names
from shared.settings.settings import Settings
from tests.support.commands import run_command

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
WRITTEN = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    if "reference" not in path.relative_to(ROOT).parts
)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_VARIABLE = re.compile(r"\bLOGCHORD_[A-Z][A-Z_]*[A-Z]\b")
# Read by the command line and the tests themselves; they are no settings.
_NO_SETTINGS = frozenset(
    {
        *("LOGCHORD_URL", "LOGCHORD_API_KEY", "LOGCHORD_CONFIG", "LOGCHORD_REGISTRY"),
        *("LOGCHORD_TEST_SEED", "LOGCHORD_TEST_DATABASE_URL"),
        *("LOGCHORD_TEST_MODEL_RUNS", "LOGCHORD_TEST_CASES"),
        "LOGCHORD_TEST_FAULTS_ALL",
    }
)


def named(path: Path) -> str:
    """A page by its path in the repository."""
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path, *languages: str) -> list[str]:
    """The bodies of a page's fenced blocks in these languages."""
    found = _FENCE.findall(path.read_text("utf-8"))
    return [body for language, body in found if language in languages]


def prose(path: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", path.read_text("utf-8"))


def anchors(path: Path) -> set[str]:
    """The anchors that the headings of a page make."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


@pytest.mark.requirement("S4-87")
@pytest.mark.parametrize("path", WRITTEN, ids=named)
def test_every_link_leads_somewhere(path):
    broken = []
    for link in _LINK.findall(prose(path)):
        target, _, anchor = link.partition("#")
        if target.startswith(("http://", "https://")):
            continue
        where = (path.parent / target).resolve() if target else path
        if not where.exists() or (anchor and anchor not in anchors(where)):
            broken.append(link)
    assert broken == []


def test_every_page_can_be_found():
    linked = {
        (path.parent / link.partition("#")[0]).resolve()
        for path in WRITTEN
        for link in _LINK.findall(prose(path))
        if not link.startswith("http")
    }
    lonely = [named(path) for path in DOCS.rglob("*.md") if path not in linked]
    assert [name for name in lonely if name != "docs/README.md"] == []


def test_every_adapter_has_a_page_of_what_is_known_of_its_software():
    parts = ["Observed", "Read in source", "Believed", "To know"]
    for adapter in entry_points(group="logchord.adapters"):
        if adapter.value.startswith("workers."):
            page = (DOCS / "adapters" / f"{adapter.name}.md").read_text("utf-8")
            said = re.findall(rf"^\*\*({'|'.join(parts)})\*\*", page, re.MULTILINE)
            assert said == parts, adapter.name


def spoken(path: Path) -> Iterator[str]:
    """Every command line that a page shows, in blocks and between backticks."""
    for block in blocks(path, "sh", "console"):
        for line in block.replace("\\\n", " ").splitlines():
            text = line.removeprefix("$ ")
            if block.startswith("$ ") and not line.startswith("$ "):
                continue
            for part in re.split(r" (?:&&|\|\||\|) |\$\(", text):
                yield re.sub(r"^(\w+=\S+ )+", "", part.strip())
    for code in re.findall(r"`([^`\n]+)`", prose(path)):
        if code.startswith(("logchord ", "make ")):
            yield code


@pytest.mark.parametrize("path", WRITTEN, ids=named)
def test_every_command_that_is_named_exists_with_its_options(path):
    unknown = []
    for line in spoken(path):
        if not re.match(r"logchord\b", line):
            continue
        try:
            words = shlex.split(line, comments=True)[1:]
        except ValueError:  # an open quote: the rest of it is on the next line
            words = line.split()[1:]
        if problem := misnamed(words):
            unknown.append(f"{line}: {problem}")
    assert unknown == []


@pytest.mark.parametrize("path", WRITTEN, ids=named)
def test_every_body_that_is_sent_says_what_it_is(path):
    """Without the header curl calls it a form, which no route takes."""
    sent = [line for line in spoken(path) if re.match(r"curl .* (-d|--data\S*) ", line)]
    assert [line for line in sent if "Content-Type: " not in line] == []


def misnamed(words: list[str]) -> str | None:
    """Say which word of a command line does not exist; follows groups down."""
    command: click.Command = command_line.cli
    context = click.Context(command)
    for word in words:
        if word.startswith("-"):
            options = {name for one in command.params for name in one.opts}
            name = word.partition("=")[0].rstrip(",.")
            is_word = isinstance(command, QuestionCommand) and word[:2] != "--"
            if name not in options and word != "-" and not is_word:
                return name
        elif isinstance(command, click.Group):
            found = command.get_command(context, word.rstrip(",."))
            if found is None and word.isupper():
                return None
            if found is None:
                return word
            command = found
    return None


@pytest.mark.parametrize("path", WRITTEN, ids=named)
def test_every_target_of_make_that_is_named_exists(path):
    listed = run_command(["make", "--silent", "help"], cwd=ROOT, check=True).stdout
    targets = {line.split()[0] for line in listed.splitlines()}
    wanted = {
        word
        for line in spoken(path)
        if line.startswith("make ")
        for word in shlex.split(line, comments=True)[1:]
        if "=" not in word
    }
    assert wanted <= targets


def test_every_setting_that_is_named_exists():
    known = {
        variable
        for leaf in Settings().leaves()
        for variable in setting_names.environment_names(leaf.dotted)
    } | _NO_SETTINGS
    unknown = {
        f"{named(path)}: {variable}"
        for path in WRITTEN
        for variable in _VARIABLE.findall(path.read_text("utf-8"))
        if variable.split("__")[0] not in {name.split("__")[0] for name in known}
    }
    assert unknown == set()


def test_every_file_that_is_named_exists():
    missing = {
        f"{named(path)}: {name}"
        for path in WRITTEN
        for name in re.findall(
            r"`((?:shared|workers|api|local|tests|migrations|compose|bench|\.ci)/"
            r"[\w/.-]*\w)`",
            path.read_text("utf-8"),
        )
        if not (ROOT / name).exists()
    }
    # Made by the person who follows the page.
    assert missing <= {"docs/how-to/run-in-containers.md: compose/secrets"}


def test_every_error_that_a_page_names_exists():
    text = (DOCS / "how-to" / "search-from-a-program.md").read_text("utf-8")
    named_codes = re.findall(r'"code": "(\w+)"', text)
    assert named_codes
    assert set(named_codes) <= CODES.keys()


def promise_rows() -> dict[str, str]:
    """The rows of docs/promises.md by the promise's id."""
    lines = (DOCS / "promises.md").read_text("utf-8").splitlines()
    return {line.split(" | ")[0].strip("| "): line for line in lines if "| P" in line}


def marked(promise: str) -> set[Path]:
    """The test files that say they prove a promise."""
    mark = re.compile(rf'requirement\([^)]*"{promise}"')
    return {
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if mark.search(path.read_text("utf-8"))
    }


def test_twelve_promises_are_made():
    assert list(promise_rows()) == [f"P{number}" for number in range(1, 13)]


@pytest.mark.parametrize("page", ["docs/promises.md", "CONTRIBUTING.md"])
def test_no_cell_of_a_table_is_longer_than_two_lines(page):
    lines = (ROOT / page).read_text("utf-8").splitlines()
    cells = [cell for line in lines if line[:2] == "| " for cell in line.split(" | ")]
    shown = [re.sub(r"\]\([^)]+\)", "]", cell) for cell in cells]
    assert [cell for cell in shown if len(cell) > 200] == []


@pytest.mark.parametrize("promise", sorted(promise_rows()))
def test_a_promise_names_the_tests_that_prove_it_or_says_that_none_does(promise):
    row = promise_rows()[promise]
    tests = {
        (DOCS / link).resolve()
        for link in _LINK.findall(row)
        if link.startswith("../tests/")
    }
    assert tests <= marked(promise), "a test named does not say that it proves this"
    assert bool(tests) != ("not yet proved" in row)
    if not tests:
        assert marked(promise) == set(), "it is proved by now: name its tests"


def test_the_changelog_begins_with_what_is_not_released():
    headings = re.findall(
        r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert headings[0].startswith("[Unreleased]")


EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*/pyproject.toml"))


@pytest.mark.parametrize("project", EXAMPLES, ids=lambda one: one.parent.name)
def test_a_copy_of_an_example_registers_nothing_that_is_not_there(project: Path):
    told = tomllib.loads(project.read_text("utf-8"))["project"]["entry-points"]
    for point in (one for group in told.values() for one in group.values()):
        module = point.partition(":")[0].replace(".", "/")
        assert (project.parent / f"{module}.py").is_file(), point
