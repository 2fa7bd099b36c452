"""Words that join others and tell nothing: alone they are searched, beside others not.

State words (`off`, `down`) are no such words: of a short question they are the point.
"""

from shared.text.words import question_words

_JOINING = {
    "en": "a an the of to and or is are was were be been by for with that this at "
    "from as has have had it its i we you he she they anything something everything",
    "de": "der die das des dem den ein eine einer eines und oder ist sind war waren "
    "von vom zu zum zur mit bei fur es wir ich er sie im am als hat haben",
    "fr": "le la les un une des du de et ou est sont etait par pour avec ce cette que "
    "qui a au aux il elle nous l d",
    "it": "il lo la i gli le un una di del della dei e o era sono per con che da si "
    "al alla l d",
    "es": "el la los las un una de del y o es son era por para con que se al lo",
}
WORDS = {name: frozenset(words.split()) for name, words in _JOINING.items()}


# In a question these ask: what answers it seldom has them.
_ALSO_ASKING = {"en": {"did", "does", "last", "latest"}, "de": {"zuletzt"}}
# A time is asked for with it, and told of, too.
_TIMES = {"temps", "tempo", "tiempo"}
_ASKING = {
    name: (words - _TIMES) | _ALSO_ASKING.get(name, set())
    for name, words in question_words.WORDS.items()
}
_NONE = frozenset[str]()


# `beam down again` is another news than `beam`.
_STATES = frozenset(["on", "off", "up", "down", "no", "not", "again", "all"])


def is_state(word: str) -> bool:
    """Tell whether a word says how something is, or that it is not."""
    return word.casefold() in _STATES


def joins(word: str, language: str) -> bool:
    """Tell whether a word only joins or asks: beside others it is not searched for."""
    return word in WORDS.get(language, _NONE) or word in _ASKING.get(language, _NONE)
