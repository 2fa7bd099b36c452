"""Lists the words of a question that stand for others: patterns, and misspelt words.

Both are looked up in the vocabulary before an engine is asked, so that every engine
compares the same literal terms.
"""

from collections.abc import Collection, Iterable

from shared.search.query.compiled.conditions import Clause, Condition, iterate_leaves
from shared.search.query.compiled.word_clauses import patterns_of
from shared.search.query.language import tree
from shared.search.query.language.tree import Node
from shared.vocabulary import common_words, spelling
from shared.vocabulary.expand import Want


def patterns(node: Node | None) -> list[Want]:
    """Return the patterns to look up before the question is compiled, each once."""
    wanted: dict[Want, None] = {}
    for leaf, _ in tree.leaves(node):
        if isinstance(leaf, tree.Pattern):
            wanted[Want("wildcard", leaf.text)] = None
        elif isinstance(leaf, tree.Phrase):
            for text in patterns_of(leaf.text):
                wanted[Want("wildcard", text, in_phrase=True)] = None
    return list(wanted)


def words(conditions: Iterable[Condition], own: Collection[str]) -> list[Want]:
    """Return the wanted plain words, which may be misspelt, to look them up.

    None of them only joins or asks in the question's own languages.
    """
    typed = [
        leaf.word
        for condition in conditions
        for leaf, is_wanted in iterate_leaves(condition)
        if is_wanted and isinstance(leaf, Clause) and leaf.word
    ]
    return [
        Want("typo", word)
        for word in dict.fromkeys(typed)
        if spelling.is_word(word) and not common_words.is_telling(word, own)
    ]


def excludes(node: Node | None) -> bool:
    """Tell whether a question has negations or fields, which every branch keeps to."""
    match node:
        case tree.Not() | tree.Field():
            return True
        case tree.And(parts) | tree.Or(parts):
            return any(excludes(part) for part in parts)
        case _:
            return False
