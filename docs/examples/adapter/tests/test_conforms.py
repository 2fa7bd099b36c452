"""Acme's adapter keeps every row of the conformance kit."""

from workers.adapters.kit.suite import *  # noqa: F403 - these are the tests
