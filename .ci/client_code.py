"""Hold the client's models and its synchronous half to what they are made from.

--write makes them again: models from the OpenAPI document, `synchronous/` from
`asynchronous/`.
"""

import keyword
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CLIENT = ROOT / "api" / "client"
_RUFF = Path(sys.executable).with_name("ruff")
# The same routes in camel case, for callers of another system.
ALIASES = "/v1/advisory-ai/search/"
_REF = "#/components/schemas/"
_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
    "array": "list[Any]",
}
_FORMATS = {"date-time": "datetime"}
# What is written there is not told by REST.
_NOT_ANSWERED = frozenset({"capability", "cli", "client", "mcp"})
# Two files are told apart by more than their names.
_TOLD = {"search": "the parts of a search", "searches": "whole searches"}
_CLASS = re.compile(r"^class (\w+)\(", re.MULTILINE)
_HUMP = re.compile(r"(?<=[a-z])[A-Z]")
_SYNCHRONOUS = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bimport asyncio\nimport time\n", "import time\n"),
    (r"\bimport asyncio\n", "import time\n"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\bAsync(BaseTransport|Client|Job|Link|Entries|Searches|Operations)\b", r"\1"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\.a(close|read|iter_lines)\b", r".\1"),
    (r"\basynchronous\b", "synchronous"),
)


def main(argv: list[str]) -> int:
    """Write the files, or print which of them are stale."""
    made = {**make_models(), **make_synchronous()}
    if "--write" in argv:
        for path, text in made.items():
            path.write_text(text, encoding="utf-8")
        print(f"{len(made)} files of the client written")
        return 0
    stale = list_stale(made)
    for name in stale:
        print(f"{name} is stale: run `make docs`")
    print(f"{len(made)} files of the client, {len(stale)} stale")
    return 1 if stale else 0


def list_stale(made: dict[Path, str]) -> list[str]:
    """Return the files that are not what they are made from."""
    return sorted(
        str(path.relative_to(ROOT))
        for path, text in made.items()
        if not path.exists() or path.read_text("utf-8") != text
    )


def make_synchronous() -> dict[Path, str]:
    """Return the half that waits in line, made from the one that awaits."""
    found: dict[Path, str] = {}
    for path in sorted((CLIENT / "asynchronous").glob("*.py")):
        text = path.read_text("utf-8")
        for pattern, by in _SYNCHRONOUS:
            text = re.sub(pattern, by, text)
        if path.name == "__init__.py":
            text = '"""The client for programs that wait; made from the other one."""\n'
        found[CLIENT / "synchronous" / path.name] = _formatted(text)
    return found


def make_models() -> dict[Path, str]:
    """Return the models of every answer, by the room of the API that tells it."""
    from api.app import create_app
    from shared.settings.settings import Settings

    document = create_app(Settings()).openapi()
    schemas = document["components"]["schemas"]
    rooms = _rooms()
    files: dict[str, list[str]] = {}
    for name in _answered(document):
        room = rooms.get(name, "server")
        beside = {rooms.get(one) for one in _named(schemas[name])}
        # Searches are more than a file holds: what is made of others stands apart.
        file = "searches" if room == "search" and "search" in beside else room
        files.setdefault(file, []).append(name)
    where = {name: file for file, some in files.items() for name in some}
    made = {
        CLIENT / "models" / f"{file}.py": _formatted(_file(some, schemas, where))
        for file, some in files.items()
    }
    made[CLIENT / "models" / "__init__.py"] = _formatted(_index(files))
    return made


def _answered(document: dict[str, Any]) -> list[str]:
    """Return the models that an answer is made of; requests are given by field."""
    schemas = document["components"]["schemas"]
    waiting = {
        name
        for path, operations in document["paths"].items()
        if not path.startswith(ALIASES)
        for operation in operations.values()
        for status, answer in operation["responses"].items()
        if status.startswith("2")
        for name in _named(answer)
    }
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= _named(schemas[name]) - found
    return sorted(found)


def _named(schema: Any) -> set[str]:
    """Return the models that a part of the document names."""
    if isinstance(schema, list):
        return {name for one in schema for name in _named(one)}
    if not isinstance(schema, dict):
        return set()
    own = {schema["$ref"].removeprefix(_REF)} if "$ref" in schema else set()
    return own.union(*map(_named, schema.values()))


def _rooms() -> dict[str, str]:
    """Return in which room of the API each model is written."""
    found: dict[str, str] = {}
    for path in (ROOT / "api").glob("*/**/*.py"):
        room = path.relative_to(ROOT / "api").parts[0]
        if room not in _NOT_ANSWERED:
            found |= dict.fromkeys(_CLASS.findall(path.read_text("utf-8")), room)
    return found


def _index(files: dict[str, list[str]]) -> str:
    imports = [f"    from api.client.models.{file} import *" for file in files]
    names = [
        f'"{file}": """\n{_lines(some)}"""' for file, some in sorted(files.items())
    ]
    return "\n".join(
        [
            '"""What the API answers; a file is imported when it is first needed."""',
            "from __future__ import annotations",
            "from importlib import import_module",
            "from typing import TYPE_CHECKING, Any",
            "if TYPE_CHECKING:",
            *imports,
            "",
            "_NAMES = {",
            ",\n".join(names),
            "}",
            "_FILES = {one: file for file in _NAMES for one in _NAMES[file].split()}",
            "__all__ = list(_FILES)",
            "def __getattr__(name: str) -> Any:",
            '    """Import the file that has a model."""',
            "    if name not in _FILES:",
            "        raise AttributeError(name)",
            '    module = import_module(f"{__name__}.{_FILES[name]}")',
            "    return getattr(module, name)",
        ]
    )


def _lines(words: list[str]) -> str:
    return textwrap.indent(textwrap.fill(" ".join(words), 80), " " * 4)


def _file(names: list[str], schemas: dict[str, Any], where: dict[str, str]) -> str:
    own = where[names[0]]
    told = _TOLD.get(own, own)
    text = "\n\n".join(_model(name, schemas[name]) for name in names)
    others = {where[name] for one in names for name in _named(schemas[one])} - {own}
    head = [
        f'"""What the API tells of {told}, made from its OpenAPI document."""',
        "from __future__ import annotations",
        "from datetime import datetime",
        "from typing import Any",
        "from pydantic import Field",
        "from api.client.models.model import Model",
        *(f"from api.client.models.{file} import *" for file in others),
    ]
    return "\n".join([*head, text])


def _model(name: str, schema: dict[str, Any]) -> str:
    needed = set(schema.get("required", ()))
    told = " ".join(schema.get("description", name).split()).replace('"', "'")
    first = re.split(r"[.;] ", told)[0].rstrip(".,:;?!")
    lines = [f"class {name}(Model):", f'    """{first}."""', ""]
    fields = [
        _field(field, one, is_needed=field in needed)
        for field, one in schema.get("properties", {}).items()
    ]
    return "\n".join([*lines, *fields])


def _field(name: str, schema: dict[str, Any], *, is_needed: bool) -> str:
    kind = _type(schema)
    own = _HUMP.sub(lambda hump: f"_{hump[0].lower()}", name)
    own = f"{own}_" if keyword.iskeyword(own) or own == "self" else own
    if not is_needed and "None" not in kind.split(" | "):
        kind += " | None"
    if own != name:
        more = "" if is_needed else "None, "
        return f"    {own}: {kind} = Field({more}alias={name!r})"
    return f"    {own}: {kind}{'' if is_needed else ' = None'}"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].removeprefix(_REF))
    for several in ("anyOf", "oneOf"):
        if several in schema:
            kinds = (_type(one).split(" | ") for one in schema[several])
            return " | ".join(dict.fromkeys(part for some in kinds for part in some))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_TYPES[one] for one in kind)
    # A newer server may say one more word: an enumeration is a text.
    if kind == "array" and "items" in schema:
        return f"list[{_type(schema['items'])}]"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"dict[str, {_type(schema['additionalProperties'])}]"
    return _FORMATS.get(schema.get("format", ""), _TYPES.get(kind or "", "Any"))


def _formatted(text: str) -> str:
    """Return the text as ruff has it, without imports that nothing uses."""
    mending = ("check", "--fix", "--quiet", "--select", "I,F401,RUF022,TC")
    for words in (mending, ("format",)):
        done = subprocess.run(
            [_RUFF, *words, "--stdin-filename", str(CLIENT / "made.py"), "-"],
            input=text,
            capture_output=True,
            check=False,
            text=True,
            cwd=ROOT,
        )
        text = done.stdout or text
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
