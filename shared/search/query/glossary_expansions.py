"""The glossary that a facility has approved, and the pairs that a question needs."""

from shared.glossary import synonyms
from shared.glossary.synonyms import Pairs
from shared.search.query.language import tree
from shared.search.query.language.tree import Node
from shared.text.analysis.tokens import scan
from shared.text.facility.facility import PLAIN, Facility
from shared.vocabulary.expand import LANGUAGES


class Approved:
    """An approved glossary, made anew after each decision; a plan takes its pairs."""

    def __init__(self, pairs: Pairs = (), facility: Facility = PLAIN) -> None:
        self.pairs = pairs
        self._facility = facility
        self._beginnings = {
            language: synonyms.beginnings(language, facility, pairs)
            for language in LANGUAGES
            if pairs
        }

    def asked(self, node: Node | None) -> Pairs:
        """Return the approved pairs whose term a word of the question may begin.

        It looks in every language, and may return too many: the term may go on with
        other words.
        """
        if not self.pairs:
            return ()
        found = {
            pair
            for leaf, _ in tree.leaves(node)
            if isinstance(leaf, tree.Words)
            for language, beginnings in self._beginnings.items()
            for token in scan(leaf.text, language, self._facility)
            for pair in beginnings.get(token.term, ())
        }
        return tuple(sorted(found))


NOTHING_APPROVED = Approved()
