"""Adjectives, adverbs, prepositions and conjunctions."""

from cmlm_tf.data.grammar.words import Adjective, Preposition, adjective, adverbial

_THING = "thing clothing vehicle furniture portable part machine"

#: Of two adjectives the first is a quality, the second a size, age or colour.
QUALITIES: tuple[Adjective, ...] = (
    adjective(
        "beautiful",
        "schön / hübsch",
        f"{_THING} place animal building",
    ),
    adjective("interesting", "interessant", "readable watched event place"),
    adjective("boring", "langweilig", "readable watched event"),
    adjective("exciting", "spannend / aufregend", "readable watched event"),
    adjective("important", "wichtig", "readable event"),
    adjective("funny", "lustig / komisch", "told watched"),
    adjective("strange", "seltsam / merkwürdig", f"{_THING} told person place"),
    adjective("famous", "berühmt / bekannt", "building watched"),
    adjective("friendly", "freundlich / nett", "person"),
    adjective("clever", "klug, klüger / schlau", "person animal"),
    adjective("rich", "reich", "person"),
    adjective("poor", "arm, ärmer", "person"),
    adjective("happy", "glücklich", "person"),
    adjective("sad", "traurig", "person told"),
    adjective("tired", "müde", "person"),
    adjective("ill/iller", "krank, kränker", "person animal"),
    adjective("hungry", "hungrig", "person animal"),
    adjective("strong", "stark, stärker / kräftig", "person animal"),
    adjective("good/better", "gut, besser", "food drink readable watched machine"),
    adjective("delicious", "lecker / köstlich", "food"),
    adjective("fresh", "frisch", "fresh"),
    adjective("expensive", "teuer, teurer", f"{_THING} food drink hotel"),
    adjective("cheap", "billig / preiswert / günstig", f"{_THING} food"),
    adjective("quiet", "ruhig / still", "place person"),
    adjective("modern", "modern", "building machine furniture"),
    adjective("dark", "dunkel, dunkler", "room building"),
    adjective("bright", "hell", "room"),
    adjective("empty", "leer", "place packed"),
    adjective("heavy", "schwer", "packed furniture machine"),
    adjective("dirty", "schmutzig / dreckig", "clothing vehicle part room"),
    adjective("broken", "kaputt / defekt", "machine device"),
    adjective("warm", "warm, wärmer", "clothing"),
    adjective("cold", "kalt, kälter", "drink"),
    adjective("hot", "heiß", "drink cookable"),
    adjective("long", "lang, länger", "readable watched event"),
    adjective("short", "kurz, kürzer", "readable watched"),
)
SIZES_AGES_COLOURS: tuple[Adjective, ...] = (
    adjective("tall", "groß, größer", "person"),
    adjective("big", "groß, größer", f"{_THING} place building animal event"),
    adjective("small", "klein", f"{_THING} place building animal"),
    adjective("young", "jung, jünger", "adult animal"),
    adjective("old", "alt, älter", f"{_THING} adult animal place readable transport"),
    adjective("new", "neu", f"{_THING} readable building transport"),
    adjective("red", "rot", "clothing vehicle furniture part"),
    adjective("blue", "blau", "clothing vehicle furniture part"),
    adjective("green", "grün", "clothing vehicle furniture part"),
    adjective("black", "schwarz", "clothing vehicle animal"),
    adjective("white", "weiß", "clothing vehicle animal"),
    adjective("grey", "grau", "clothing animal"),
)
#: Neither compared nor used with a degree.
NO_COMPARATIVE = frozenset("ill broken red blue green black white grey empty".split())
DEGREES = {"": "", "very": "sehr", "too": "zu", "quite": "ziemlich"}

FREQUENCY = (
    adverbial("often", "oft / häufig", "frequency"),
    adverbial("always", "immer / stets", "frequency"),
    adverbial("never", "nie / niemals", "frequency"),
    adverbial("sometimes", "manchmal / ab und zu", "frequency"),
    adverbial("rarely", "selten", "frequency"),
    adverbial("usually", "normalerweise / meistens / gewöhnlich", "frequency"),
)
ALREADY = adverbial("already", "schon / bereits", "frequency")
ATTITUDE = (
    adverbial("unfortunately,", "leider / bedauerlicherweise", "attitude"),
    adverbial("perhaps", "vielleicht / möglicherweise", "attitude"),
    adverbial("fortunately,", "zum Glück / glücklicherweise", "attitude"),
    adverbial("of course,", "natürlich / selbstverständlich", "attitude"),
)
MANNER = (
    adverbial("quickly", "schnell / rasch", "manner"),
    adverbial("carefully", "vorsichtig / sorgfältig", "manner"),
    adverbial("slowly", "langsam", "manner"),
    adverbial("alone", "allein / alleine", "manner"),
)
VEHICLES = (
    adverbial("by train", "mit dem Zug / mit der Bahn", "manner"),
    adverbial("by bus", "mit dem Bus", "manner"),
    adverbial("by car", "mit dem Auto / mit dem Wagen", "manner"),
)

WITH = Preposition("with", "mit", "dative")
WITHOUT = Preposition("without", "ohne", "accusative")
FOR = Preposition("for", "für", "accusative")
BY = Preposition("by", "von", "dative")
EVENT_PREPOSITIONS = (
    Preposition("after", "nach", "dative"),
    Preposition("before", "vor", "dative"),
    Preposition("during", "während", "genitive"),
)
CAUSE_PREPOSITIONS = (
    Preposition("because of", "wegen", "genitive"),
    Preposition("despite", "trotz", "genitive"),
)
BUILDING_PREPOSITIONS = (
    Preposition("in front of", "vor", "dative"),
    Preposition("behind", "hinter", "dative"),
    Preposition("next to", "neben", "dative"),
)

#: Preposition and article in one word.
CONTRACTIONS = {
    "in dem": "im",
    "in das": "ins",
    "an dem": "am",
    "an das": "ans",
    "zu dem": "zum",
    "zu der": "zur",
    "bei dem": "beim",
    "von dem": "vom",
}

#: Verb-final conjunctions; the first is the usual one.
SUBORDINATORS = {
    "because": ("weil", "da"),
    "although": ("obwohl", "obgleich"),
    "when": ("wenn",),
    "when (once)": ("als",),
    "if": ("wenn", "falls"),
    "before": ("bevor", "ehe"),
    "while": ("während",),
}
COORDINATORS = {"and": ("und",), "but": ("aber", "doch")}
QUESTION_WORDS = {"when": ("wann",), "why": ("warum", "weshalb"), "where": ("wo",)}
