"""A model's text as it is shown while it comes: names put back, sentences judged."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from shared.answers.answer_question import PreparedAnswer
from shared.answers.prompt.model_prompt import ModelPrompt
from shared.answers.worded.check_sentence import Checker
from shared.answers.worded.worded_answer import check_text

CHUNK_SECONDS = 0.05
_MARK = re.compile(r"\[([#\d][^\[\]]{0,80})\]")
_LAST_BLANK = re.compile(r"\s(?=\S*\Z)")


class StreamedText:
    """Hands on what a model says in chunks that are read as they stand."""

    def __init__(
        self,
        prepared: PreparedAnswer,
        prompt: ModelPrompt,
        checker: Checker,
        hand_on: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._prepared = prepared
        self._prompt = prompt
        self._checker = checker
        self._hand_on = hand_on
        self._whole = self._held = ""
        self._judged = 0
        self._handed_at = 0.0

    @property
    def has_begun(self) -> bool:
        """Tell whether any text came; asking again would then show text twice."""
        return bool(self._whole)

    def hear(self, text: str) -> None:
        """Take text from the model; hand on whole words some twenty times a second."""
        self._whole += text
        self._held += text
        if time.monotonic() - self._handed_at >= CHUNK_SECONDS:
            end = _end_of_words(self._held)
            if end:
                self._hand(end)

    def end(self) -> None:
        """Hand on the rest, and judge the last sentence."""
        self._hand(len(self._held), is_last=True)

    def _hand(self, end: int, *, is_last: bool = False) -> None:
        said, self._held = self._held[:end], self._held[end:]
        checked = check_text(
            self._whole[: len(self._whole) - len(self._held)],
            self._prompt,
            self._checker,
        )
        # The last one may go on.
        ended = checked if is_last else checked[:-1]
        judged = ended[self._judged :]
        self._judged = max(self._judged, len(ended))
        if not said and not judged:
            return
        self._handed_at = time.monotonic()
        verdicts = [
            {"text": one.text, "holds": one.flaw is None, "flaw": one.flaw}
            for one in judged
        ]
        self._hand_on({"text": self._shown(said), "sentences": verdicts})

    def _shown(self, said: str) -> str:
        marks, labels = self._prompt.marks, self._prepared.marks

        def label(match: re.Match[str]) -> str:
            names = [one.strip() for one in re.split(r"[,;]", match[1])]
            known = [marks[name].entry for name in names if name in marks]
            return " ".join(map(labels.of, dict.fromkeys(known)))

        return _MARK.sub(label, self._prompt.pseudonyms.show(said))


def _end_of_words(text: str) -> int:
    """Return where whole words end, and no mark is open."""
    opened = text.rfind("[")
    if opened > text.rfind("]"):
        text = text[:opened]
    blank = _LAST_BLANK.search(text)
    return blank.end() if blank else 0
