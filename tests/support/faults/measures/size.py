"""How large the experiments are: a smoke set in every run, the whole on request."""

import json
import os
from collections.abc import Mapping

# `make faults-all` sets it.
FULL = os.environ.get("LOGCHORD_TEST_FAULTS_ALL", "") not in ("", "0")

N = 1000 if FULL else 200
# Printed with every line; the same seed orders the same faults again.
SEED = int(os.environ.get("LOGCHORD_TEST_SEED") or "20261121")

# For experiments that assert no recovery time; P3 is promised with what is shipped.
SHORT_LEASE: Mapping[str, str] = {
    "LOGCHORD_WORK__LEASE_SECONDS": "5",
    "LOGCHORD_WORK__LEASE_RENEW_SECONDS": "1.5",
}
# Where vectors are counted and not compared: nothing to load, and no time to speak of.
QUICK_VECTORS: Mapping[str, str] = {"EMBEDDING_MODEL": "hashing-64"}
# Every stage that an entry can pass, that too which is off unless asked for.
EVERY_STAGE: Mapping[str, str] = {
    "LOGCHORD_STAGES": json.dumps({"digest": {"enabled": True}})
}


def times(smoke: int, full: int) -> int:
    """Return how often a fault is repeated in this run."""
    return full if FULL else smoke
