"""Real data of the folder `../shared`, which not everybody has beside the clone."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared"
LOGBOOKS = SHARED / "data" / "logbooks"
RETRIEVAL = SHARED / "data" / "retrieval"

# Where the folder is, a file that it lacks fails the test.
needs_shared_data = pytest.mark.skipif(
    not SHARED.exists(), reason="the folder ../shared is not beside this clone"
)
