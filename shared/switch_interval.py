"""Threads of one process take turns at its one interpreter."""

import sys

# What an engine has answered waits for its thread's turn: by Python's own 5 ms a step
# of 1 ms took 6.2 while another thread worked, by this one 2.2.
TURN_SECONDS = 0.001


def take_short_turns() -> None:
    """Let a thread that waits in sooner, in a process that many wait for."""
    sys.setswitchinterval(TURN_SECONDS)
