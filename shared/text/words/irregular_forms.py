"""English verbs whose forms no stemmer brings together: `lost` is a form of `lose`.

Left out is what is mostly another word where things are operated: `found` a base, `led`
a lamp, `left` a side, `saw`, `bit` and `bore`, `ground`, `wound` and `shot`.
"""

_FORMS = """
    became become, began begin, begun begin, bent bend, bled bleed, blew blow,
    blown blow, broke break, broken break, brought bring, built build, burnt burn,
    caught catch, crept creep, drawn draw, drew draw, driven drive, drove drive,
    dug dig, eaten eat, ate eat, fallen fall, fell fall, fed feed, forgot forget,
    forgotten forget, froze freeze, frozen freeze, gave give, given give, grew grow,
    grown grow, heard hear, held hold, hid hide, hidden hide, hung hang, kept keep,
    leant lean, learnt learn, lost lose, molten melt, overshot overshoot,
    proven prove, ran run, rebuilt rebuild, retook retake, risen rise, rose rise,
    sank sink, sent send, shaken shake, shook shake, shown show, shrank shrink,
    shrunk shrink, slid slide, smelt smell, spilt spill, spun spin, stole steal,
    stolen steal, struck strike, stuck stick, sunk sink, swept sweep, swollen swell,
    swung swing, taken take, took take, threw throw, thrown throw, told tell, tore tear,
    torn tear, undershot undershoot, understood understand, withdrawn withdraw,
    withdrew withdraw, woken wake, woke wake, wore wear, worn wear, written write,
    wrote write
"""
# By the form, folded: the verb that it is a form of.
VERBS = dict[str, str](pair.split() for pair in _FORMS.split(","))
