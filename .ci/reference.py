"""Hold docs/reference/ to the code it is made from; --write makes it again."""

import sys
from pathlib import Path

from reference_pages import (
    adapters,
    commands,
    diagnostics,
    errors,
    modules,
    routes,
    settings,
    tasks,
)

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"

PAGES = {
    "adapters.md": adapters.adapters_page,
    "commands.md": commands.commands_page,
    "settings.md": settings.settings_page,
    "diagnostics.md": diagnostics.diagnostics_page,
    "errors.md": errors.errors_page,
    "routes.md": routes.routes_page,
    "tasks.md": tasks.tasks_page,
    "modules.md": modules.modules_page,
}


def main(argv: list[str]) -> int:
    """Write the pages, or print which of them are stale."""
    pages = {name: make() for name, make in PAGES.items()}
    if "--write" in argv:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"{len(pages)} pages written")
        return 0
    kept = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    named = pages.keys() | kept.keys()
    stale = sorted(name for name in named if pages.get(name) != kept.get(name))
    for name in stale:
        print(f"docs/reference/{name} is stale: run `make docs`")
    print(f"{len(pages)} pages, {len(stale)} stale")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
