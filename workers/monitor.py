"""What Flower loads: the broker and the names of the queues, and no task's code."""

from __future__ import annotations

import os

from shared.broker import make_app
from shared.settings import Settings

app = make_app(Settings.load(os.environ))
