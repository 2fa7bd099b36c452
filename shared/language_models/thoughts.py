"""The thoughts that a model writes before its answer, told apart as they come.

Ollama, vLLM and llama.cpp hand them on within the text, between two tags, unless they
are told otherwise.
"""

from __future__ import annotations

_OPENS, _CLOSES = "<think>", "</think>"


class ThoughtFilter:
    """Keeps back what a text begins with, if that is thoughts."""

    def __init__(self) -> None:
        # What may be a part of a tag.
        self._held = ""
        self._is_thinking = self._is_answering = False

    def read(self, text: str) -> str:
        """Return as much of the answer as is known to be none of the thoughts."""
        if self._is_answering:
            return text
        self._held += text
        if not self._is_thinking:
            begins = self._held.lstrip()
            if len(begins) < len(_OPENS) and _OPENS.startswith(begins):
                return ""
            if not begins.startswith(_OPENS):
                self._is_answering, self._held = True, ""
                return begins
            self._is_thinking = True
        before, tag, answer = self._held.partition(_CLOSES)
        self._held = "" if tag else before[-len(_CLOSES) :]
        self._is_thinking = not tag
        answer = answer.lstrip()
        self._is_answering = bool(answer)
        return answer

    def end(self) -> str:
        """Return the rest of the answer: no tag came behind what was kept back."""
        held, self._held = self._held, ""
        return "" if self._is_thinking else held
