"""The client's models and its synchronous half are what they are made from."""

import importlib.util
import logging
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import structlog

from api.client import models

ROOT = Path(__file__).parents[3]


def generator() -> ModuleType:
    path = ROOT / ".ci" / "client_code.py"
    spec = importlib.util.spec_from_file_location("client_code", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CODE = generator()


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """Making the application to read its routes configures the logs."""
    handlers, level = logging.root.handlers, logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers, logging.root.level = handlers, level


def test_the_models_are_those_of_the_openapi_document():
    assert CODE.list_stale(CODE.make_models()) == []


def test_both_halves_are_one_source():
    assert CODE.list_stale(CODE.make_synchronous()) == []


@pytest.mark.parametrize("name", models.__all__)
def test_every_model_can_be_built(name: str):
    assert getattr(models, name).model_rebuild() is not False
