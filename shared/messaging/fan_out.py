"""The branches of a search, sent to the workers as one group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from celery import Celery, group

from shared.messaging.broker_errors import translate_broker_errors
from shared.messaging.task_names import RUN_BRANCH


def send_branches(
    app: Celery,
    job_id: UUID,
    branches: int,
    queue_name: str,
    headers: Mapping[str, Any],
) -> None:
    """Send every branch of a flat search as one group, through one producer."""
    signatures = [
        app.signature(RUN_BRANCH, (str(job_id), number)).set(
            queue=queue_name, ignore_result=True
        )
        for number in range(branches)
    ]
    with translate_broker_errors(), app.producer_or_acquire() as producer:
        group(signatures, app=app).apply_async(
            headers=dict(headers), producer=producer, add_to_parent=False
        )
