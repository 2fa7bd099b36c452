"""What is started is noted, whenever Ctrl-C is pressed."""

import os
import signal

import pytest

from local import processes


def begin_and_note(noted: list[str], *, pressed: bool) -> None:
    with processes.uninterrupted():
        if pressed:
            os.kill(os.getpid(), signal.SIGINT)
        noted.append("a process")


def test_ctrl_c_is_heard_once_what_was_begun_is_noted() -> None:
    before = signal.getsignal(signal.SIGINT)
    noted: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        begin_and_note(noted, pressed=True)
    assert noted == ["a process"]
    assert signal.getsignal(signal.SIGINT) is before


def test_nobody_is_interrupted_without_ctrl_c() -> None:
    noted: list[str] = []
    begin_and_note(noted, pressed=False)
    assert noted == ["a process"]
