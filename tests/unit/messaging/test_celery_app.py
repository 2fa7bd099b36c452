"""The options of Celery that the promises rest on."""

import pytest

from shared.errors import ConfigurationError
from shared.messaging.celery_app import make_app
from shared.settings.settings import Settings
from shared.work.batches import TASK_SECONDS
from workers.runtime.ending import STOP_SECONDS
from workers.runtime.task import BATCH_SECONDS

GRACE_SECONDS = 30
# P11 promises less than this of every worker.
PROMISED_MB = 512


@pytest.fixture(scope="module")
def settings():
    return Settings.load({"BROKER_URL": "redis://:secret@127.0.0.1:9/0"})


@pytest.fixture(scope="module")
def conf(settings):
    return make_app(settings).conf


def test_messages_are_json_and_nothing_else(conf):
    assert conf.accept_content == ["json"]
    assert conf.task_serializer == "json"


def test_a_message_is_a_nudge_acknowledged_early_and_never_redelivered(conf):
    assert conf.task_acks_late is False
    assert conf.broker_transport_options["ack_emulation"] is False
    assert conf.worker_cancel_long_running_tasks_on_connection_loss is False
    assert conf.task_ignore_result is True


def test_a_half_open_link_to_the_broker_is_found_out_within_seconds(conf):
    options = conf.broker_transport_options
    assert options["health_check_interval"] == 5
    assert options["socket_timeout"] == 5
    assert conf.broker_connection_max_retries is None


def test_no_task_may_run_longer_than_a_claim_is_renewed(conf, settings):
    work = settings.work
    assert conf.task_soft_time_limit < conf.task_time_limit <= work.task_hard_seconds
    assert work.lease_renew_seconds * 2 < work.lease_seconds
    assert TASK_SECONDS + BATCH_SECONDS < GRACE_SECONDS
    # What is in hand has its time, and then the process ends within the bound.
    assert BATCH_SECONDS < STOP_SECONDS < GRACE_SECONDS


def test_a_child_is_replaced_well_before_it_is_as_large_as_promised(conf, settings):
    replaced_kib = conf.worker_max_memory_per_child
    assert replaced_kib < settings.worker_memory_mb * 1024 < PROMISED_MB * 1024


def test_without_a_broker_the_message_says_how_to_have_one():
    with pytest.raises(ConfigurationError, match="logchord up"):
        make_app(Settings.load({}))
