"""What readers of markup write on: lines of text, lists, quotations and tables."""

from collections.abc import Callable
from dataclasses import dataclass, field

from shared.text.markup.link_targets import behind

# Deeper than people nest; what is deeper still is written at the last level.
_DEEPEST_QUOTE = 4
_DEEPEST_INDENT = 4
_DEEPEST_TABLE = 6
_DEEPEST_LIST = 64
# A cell longer than this is no cell but a part of a page laid out by a table.
_TALLEST_CELL = 4


class Sheet:
    """Lines one under the other, never two of them blank outside of code."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._prefix = ""
        self._has_space = False
        # So many lines there were when the last table ended.
        self._table_end = 0
        self.quotes = 0

    def text(self, text: str) -> None:
        """Go on in the line; blanks and line ends count as one blank."""
        words = text.split()
        if not words:
            self._has_space = self._has_space or bool(text)
            return
        if self._line:
            if self._has_space or text[0].isspace():
                self._line.append(" ")
        elif self._prefix:
            self._line.append(self._prefix)
            self._prefix = ""
        self._line.append(" ".join(words))
        self._has_space = text[-1].isspace()

    def literal(self, text: str) -> None:
        """Go on in the line with text whose blanks and line ends are kept."""
        first, *others = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._literal_line(first)
        for line in others:
            self._end_line()
            self._literal_line(line)

    def attach(self, text: str) -> None:
        """Put text directly behind what is written, whatever blanks came since."""
        self._has_space = False
        self.text(text)

    def new_line(self) -> None:
        """End the line, if there is anything in it."""
        if self._line:
            self._end_line()
        self._has_space = False

    def line_break(self) -> None:
        """End the line; a second one leaves a blank line."""
        if self._line:
            self._end_line()
        else:
            self._leave_blank()
        self._has_space = False

    def paragraph(self) -> None:
        """End the line and leave a blank one."""
        self.new_line()
        if not self._prefix:
            self._leave_blank()

    def item(self, mark: str, depth: int) -> None:
        """Begin an item of a list; one without text leaves no trace."""
        self.new_line()
        self._prefix = "  " * (min(depth, _DEEPEST_INDENT) - 1) + mark

    def rule(self) -> None:
        """Write a line that parts what stands above it from what follows."""
        self.new_line()
        self.text("---")
        self.new_line()

    def part(self) -> None:
        """Leave a blank line before a table, if another one has just ended."""
        if self._lines and len(self._lines) == self._table_end:
            self._leave_blank()

    def note_table(self) -> None:
        """Remember that a table ends here."""
        self._table_end = len(self._lines)

    def ends_in_word(self) -> bool:
        """Tell whether a letter or a digit stands right before the next text."""
        return bool(self._line) and not self._has_space and self._line[-1][-1].isalnum()

    def result(self) -> str:
        """Return the written lines, without blank lines around them."""
        self.new_line()
        return "\n".join(self._lines).strip("\n")

    def _literal_line(self, line: str) -> None:
        if not line:
            return
        if self._prefix:
            self._line.append(self._prefix)
            self._prefix, line = "", line.lstrip()
        elif self._line and self._has_space:
            self._line.append(" ")
        self._has_space = False
        self._line.append(line)

    def _end_line(self) -> None:
        marks = "> " * min(self.quotes, _DEEPEST_QUOTE)
        self._lines.append((marks + "".join(self._line)).rstrip())
        self._line = []

    def _leave_blank(self) -> None:
        if self._lines and self._lines[-1]:
            self._lines.append("")


@dataclass(slots=True)
class _Table:
    """A table that is being written, and the sheet around it."""

    around: Sheet
    row: list[str] = field(default_factory=list)
    cell: Sheet | None = None


class TextSheet:
    """A sheet with links, lists, and tables, which may stand in tables' cells."""

    def __init__(self) -> None:
        self.sheet = Sheet()
        self._tables: list[_Table] = []
        # How many tables beyond the deepest are open, and how many lists.
        self._too_deep = self._lists_too_deep = 0
        # For each open list the number of its next item; None: it is not numbered.
        self._lists: list[int | None] = []
        self._address = ""
        self._linked: list[str] = []

    def open_link(self, address: str) -> None:
        """Begin a link, and end the one before it."""
        self.close_link()
        self._address = address

    def note_linked(self, text: str) -> None:
        """Remember a text that may be the words of a link."""
        if self._address:
            self._linked.append(text)

    def close_link(self) -> None:
        """Say behind the words of a link where it leads, unless they tell."""
        address, self._address = self._address, ""
        words, self._linked = "".join(self._linked), []
        if address:
            self.sheet.attach(behind(words, address))

    def open_list(self, first: int | None) -> None:
        """Begin a list by the number of its first item; None: it has no numbers."""
        self.sheet.new_line()
        if len(self._lists) < _DEEPEST_LIST:
            self._lists.append(first)
        else:
            self._lists_too_deep += 1

    def close_list(self) -> None:
        """End the innermost list; without one, only the line ends."""
        self.sheet.new_line()
        if self._lists_too_deep:
            self._lists_too_deep -= 1
        elif self._lists:
            self._lists.pop()

    def item(self, number: Callable[[int], int] = int) -> None:
        """Begin an item; `number` may give it another number than its turn's."""
        mark = "- "
        if self._lists and self._lists[-1] is not None:
            own = number(self._lists[-1])
            self._lists[-1] = own + 1
            mark = f"{own}. "
        self.sheet.item(mark, max(1, len(self._lists)))

    def open_table(self) -> None:
        """Begin a table on a line of its own."""
        self.sheet.new_line()
        self.sheet.part()
        if len(self._tables) < _DEEPEST_TABLE:
            self._tables.append(_Table(self.sheet))
        else:
            self._too_deep += 1

    def open_row(self) -> None:
        """Begin a row, and end the one before it."""
        if self._too_deep or not self._tables:
            self.sheet.new_line()
        else:
            self._end_row(self._tables[-1])

    def open_cell(self) -> None:
        """Begin a cell, and end the one before it."""
        if self._too_deep or not self._tables:
            self.sheet.text(" ")
            return
        table = self._tables[-1]
        self._end_cell(table)
        table.cell = self.sheet = Sheet()

    def close_table(self) -> None:
        """End the innermost table; without one, nothing happens."""
        if self._too_deep:
            self._too_deep -= 1
        elif self._tables:
            self._end_row(self._tables[-1])
            self._tables.pop()
        self.sheet.new_line()
        self.sheet.note_table()

    def result(self) -> str:
        """Return the whole page, with links and tables that nobody has ended."""
        self.close_link()
        self._too_deep = 0
        while self._tables:
            self.close_table()
        return self.sheet.result()

    def _end_cell(self, table: _Table) -> None:
        if table.cell is not None:
            table.row.append(table.cell.result())
        table.cell, self.sheet = None, table.around

    def _end_row(self, table: _Table) -> None:
        self._end_cell(table)
        cells = [cell.split("\n") for cell in table.row]
        table.row = []
        filled = [lines for lines in cells if lines != [""]]
        self.sheet.new_line()
        if len(cells) == 1 or any(len(lines) > _TALLEST_CELL for lines in filled):
            for lines in filled:
                self.sheet.literal("\n".join(lines))
                self.sheet.new_line()
        elif filled:
            joined = [" ".join(filter(None, lines)) for lines in cells]
            self.sheet.literal(" | ".join(joined))
            self.sheet.new_line()
