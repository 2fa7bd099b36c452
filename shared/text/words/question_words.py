"""Words that begin a question, by language, folded."""

_BEGINNINGS = {
    "en": "what which who whom whose where when why how",
    "de": "was welche welcher welches welchem welchen wer wen wem wessen wo wohin "
    "woher wann wie warum wieso weshalb weswegen wodurch womit woran wozu",
    "fr": "pourquoi quand quel quelle quels quelles lequel laquelle combien comment "
    "temps",
    "it": "perche dove quali quanto quanta quanti quante tempo",
    "es": "cuando donde cuales quien cuanto cuanta cuantos cuantas tiempo",
}
WORDS = {name: frozenset(words.split()) for name, words in _BEGINNINGS.items()}
# What asks for yes or no, of how something is now, begins with one of these.
WHETHER_NOW = frozenset(
    ["is", "are", "has", "have", "does", "ist", "sind", "hat", "haben"]
)
# In the other languages such a word only tells which language a question is in.
ENGLISH_AND_GERMAN = WORDS["en"] | WORDS["de"]
