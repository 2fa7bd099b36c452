"""The page of search modules, pipelines and stages."""

from reference_pages.markdown import as_code, page, table
from shared.search.retrieval import installed_modules as search_modules
from shared.stages import installed_stages
from shared.stages.stage_contract import StageDescriptor


def modules_page() -> str:
    """Return every search module and stage that Logchord itself registers."""
    return page(
        "Search modules and stages",
        "What entry points name, in this release and in packages of your own.",
        "## Search modules",
        "One retrieval strategy each, found by entry point `logchord.search_modules`"
        " ([write a search module](../how-to/write-a-search-module.md)).",
        table(
            ("module", "mode", "scores", "falls back to", "what it does"),
            (
                (
                    as_code(one.name),
                    as_code(one.search_mode),
                    as_code(one.unit),
                    as_code(one.fallback or ""),
                    one.description,
                )
                for one in (
                    found.descriptor for found in search_modules.list_modules().values()
                )
            ),
        ),
        "## Pipelines",
        "Search modules put together, a mode each, found by entry point"
        " `logchord.pipelines` or registered"
        " ([write one](../how-to/write-a-search-module.md))."
        " Modes `rag` and `agent` are Logchord's own, where a model is configured.",
        "## Stages",
        "What an entry passes, found by entry point `logchord.enhancers`, in this"
        " order. A new revision makes a stage due, or the end of the one that it comes"
        " after; what it does not read leaves it alone"
        " ([write a stage](../how-to/write-a-stage.md)).",
        table(
            ("stage", "version", "after", "reads", "writes", "runs", "what it does"),
            (
                (
                    as_code(name),
                    str(one.version),
                    ", ".join(map(as_code, one.after)),
                    ", ".join(map(as_code, one.reads)) or "the whole entry",
                    one.writes,
                    _runs(one),
                    one.description,
                )
                for name, one in installed_stages.list_stages().items()
            ),
        ),
    )


def _runs(one: StageDescriptor) -> str:
    if not one.is_optional:
        return "always"
    if one.find is None:
        return "always; search does without it"
    return "unless switched off" if one.is_on else "if switched on"
