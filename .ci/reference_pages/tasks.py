"""The page of Celery tasks."""

import importlib
import inspect

from reference_pages.markdown import as_code, page, table
from shared.messaging import task_names


def tasks_page() -> str:
    """Return every Celery task: name, queue, arguments, promise."""
    # `workers.app` would make the application of a running worker: not imported here.
    task = importlib.import_module("workers.runtime.task")
    for module in task.MODULES:
        importlib.import_module(module)
    functions = task._FUNCTIONS  # noqa: SLF001 - for this page only
    return page(
        "Tasks",
        "What the workers carry out. Arguments are ids and small integers; running a"
        " task twice equals running it once.",
        table(
            ("task", "queue", "arguments", "promise"),
            (
                (
                    as_code(name),
                    as_code(task_names.QUEUE_OF.get(name, "")),
                    as_code(
                        ", ".join(list(inspect.signature(function).parameters)[1:])
                    ),
                    (inspect.getdoc(function) or "").split("\n")[0],
                )
                for name, function in sorted(functions.items())
            ),
        ),
    )
