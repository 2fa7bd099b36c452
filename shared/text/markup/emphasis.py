"""Marks of emphasis that come in pairs around words, taken off in one pass."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class EmphasisLine:
    """The pieces of a line; marks of emphasis vanish when their partner comes."""

    pieces: list[str] = field(default_factory=list)
    _open: dict[str, int] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """Go on with text that nothing is looked for in."""
        self.pieces.append(text)

    def mark(self, mark: str, before: str, after: str) -> None:
        """Go on with a mark between two characters; either may be missing.

        What stands inside of a word is no mark: `HCM_03_X` and `2*3*4` are names
        and numbers.
        """
        is_bold = len(mark) > 1 and mark[0] != "_"
        closes = bool(before.strip()) and (is_bold or not after.isalnum())
        opens = bool(after.strip()) and (is_bold or not before.isalnum())
        partner = self._open.pop(mark, None) if closes else None
        if partner is not None and partner < len(self.pieces) - 1:
            self.pieces[partner] = ""
            self.pieces.append("")
            return
        if opens:
            self._open[mark] = len(self.pieces)
        self.pieces.append(mark)

    def result(self) -> str:
        """Return the line, with the marks that found no partner."""
        return "".join(self.pieces)
