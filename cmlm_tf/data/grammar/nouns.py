"""The nouns, the compounds and the names."""

import dataclasses
import itertools

from cmlm_tf.data.grammar.words import Name, Noun, compound_noun, noun

_PEOPLE = """
man/men | der Mann, Männer
woman/women | die Frau, Frauen
boy | der Junge, Jungen, Jungen
girl | das Mädchen, Mädchen
writer | der Schriftsteller, Schriftsteller / der Autor, Autoren
police officer | der Polizist, Polizisten, Polizisten
"""
_ROLES = """
child/children | das Kind, Kinder
neighbour | der Nachbar, Nachbarn, Nachbarn / die Nachbarin, Nachbarinnen
teacher | der Lehrer, Lehrer / die Lehrerin, Lehrerinnen
doctor | der Arzt, Ärzte / die Ärztin, Ärztinnen
student | der Student, Studenten, Studenten / die Studentin, Studentinnen
boss | der Chef, Chefs, Chefs / die Chefin, Chefinnen
guest | der Gast, Gäste
cook | der Koch, Köche / die Köchin, Köchinnen
"""
_RELATIVES = """
brother | der Bruder, Brüder
sister | die Schwester, Schwestern
mother | die Mutter, Mütter
father | der Vater, Väter
son | der Sohn, Söhne
daughter | die Tochter, Töchter
uncle | der Onkel, Onkel
aunt | die Tante, Tanten
friend | der Freund, Freunde / die Freundin, Freundinnen
colleague | der Kollege, Kollegen, Kollegen / die Kollegin, Kolleginnen
grandmother | die Großmutter, Großmütter / die Oma, Omas
grandfather | der Großvater, Großväter / der Opa, Opas
"""
_THINGS = """
book | das Buch, Bücher | readable writable portable
letter | der Brief, Briefe | readable writable portable
newspaper | die Zeitung, Zeitungen | readable portable
magazine | die Zeitschrift, Zeitschriften / das Magazin, Magazine | readable portable
story | die Geschichte, Geschichten / die Erzählung, Erzählungen | readable told
poem | das Gedicht, Gedichte | readable writable
report | der Bericht, Berichte | readable writable
email | die E-Mail, E-Mails | readable writable
article | der Artikel, Artikel | readable writable
postcard | die Postkarte, Postkarten / die Karte, Karten | readable writable portable
key | der Schlüssel, Schlüssel | portable thing
lamp | die Lampe, Lampen | device thing
computer | der Computer, Computer / der Rechner, Rechner | device thing machine
television | der Fernseher, Fernseher | device thing machine
radio | das Radio, Radios | device thing machine
machine | die Maschine, Maschinen | device thing machine
phone | das Handy, Handys / das Telefon, Telefone | portable thing machine
camera | die Kamera, Kameras | portable thing machine
picture | das Bild, Bilder | portable thing
cup | die Tasse, Tassen | portable thing
plate | der Teller, Teller | portable thing
knife/knives | das Messer, Messer | portable thing
umbrella | der Regenschirm, Regenschirme / der Schirm, Schirme | portable thing
present | das Geschenk, Geschenke | portable thing
watch | die Armbanduhr, Armbanduhren / die Uhr, Uhren | portable thing machine
ball | der Ball, Bälle | portable thing
map | die Karte, Karten | portable thing
bag | die Tasche, Taschen | portable thing packed
suitcase | der Koffer, Koffer | portable thing packed openable
box | die Kiste, Kisten / die Schachtel, Schachteln | portable thing openable
bottle | die Flasche, Flaschen | portable thing openable
table | der Tisch, Tische | thing furniture
chair | der Stuhl, Stühle | thing furniture
cupboard | der Schrank, Schränke | thing furniture openable
door | die Tür, Türen | openable part
window | das Fenster, Fenster | openable part
roof | das Dach, Dächer | part
garden gate | das Gartentor, Gartentore | openable part
coat | der Mantel, Mäntel | clothing portable
jacket | die Jacke, Jacken | clothing portable
shirt | das Hemd, Hemden | clothing portable
dress | das Kleid, Kleider | clothing portable
hat | der Hut, Hüte | clothing portable
shoe | der Schuh, Schuhe | clothing portable
car | das Auto, Autos / der Wagen, Wagen | vehicle machine
bicycle | das Fahrrad, Fahrräder / das Rad, Räder | vehicle machine
bus | der Bus, Busse, Busses | transport
train | der Zug, Züge | transport
ship | das Schiff, Schiffe | transport
dog | der Hund, Hunde | animal
cat | die Katze, Katzen | animal
horse | das Pferd, Pferde | animal
bird | der Vogel, Vögel | animal
bread | das Brot | food fresh
cheese | der Käse, , Käses | food
soup | die Suppe, Suppen | food cookable
cake | der Kuchen, Kuchen | food fresh
apple | der Apfel, Äpfel | food fresh
egg | das Ei, Eier, Eies | food cookable fresh
fish/fish | der Fisch, Fische | food cookable fresh
potato | die Kartoffel, Kartoffeln | food cookable
salad | der Salat, Salate | food fresh
coffee | der Kaffee | drink
tea | der Tee | drink
water | das Wasser | drink
milk | die Milch | drink
wine | der Wein | drink
beer | das Bier | drink
film | der Film, Filme, Films | watched
game | das Spiel, Spiele | watched
party | die Feier, Feiern / die Party, Partys | event
meeting | die Besprechung, Besprechungen / die Sitzung, Sitzungen | event
concert | das Konzert, Konzerte | event
lesson | die Unterrichtsstunde, Unterrichtsstunden / die Stunde, Stunden | event
exam | die Prüfung, Prüfungen | event
wedding | die Hochzeit, Hochzeiten | event
trip | der Ausflug, Ausflüge / die Reise, Reisen | event
rain | der Regen | weather
storm | der Sturm, Stürme / das Unwetter, Unwetter | weather
noise | der Lärm, , Lärms | weather
cold | die Kälte | weather
heat | die Hitze | weather
"""
_PLACES = """
house | das Haus, Häuser | in in | in
garden | der Garten, Gärten | in in | in
kitchen | die Küche, Küchen | in in | in
office | das Büro, Büros | in in | in
room | das Zimmer, Zimmer | in in | in
flat | die Wohnung, Wohnungen | in in | in
school | die Schule, Schulen | at in | zu in
church | die Kirche, Kirchen | in in | in zu
station | der Bahnhof, Bahnhöfe | at an | zu
airport | der Flughafen, Flughäfen | at an | zu
park | der Park, Parks, Parks | in in | in
city | die Stadt, Städte | in in | in
village | das Dorf, Dörfer | in in | in
museum | das Museum, Museen, Museums | in in | in zu
hotel | das Hotel, Hotels | in in | in zu
restaurant | das Restaurant, Restaurants / das Lokal, Lokale | in in | in zu
cinema | das Kino, Kinos | in in | in
theatre | das Theater, Theater | in in | in
shop | der Laden, Läden / das Geschäft, Geschäfte | in in | in zu
market | der Markt, Märkte | at auf | auf zu
hospital | das Krankenhaus, Krankenhäuser | in in | in
library | die Bibliothek, Bibliotheken / die Bücherei, Büchereien | in in | in zu
university | die Universität, Universitäten / die Uni, Unis | at an | zu
pharmacy | die Apotheke, Apotheken | in in | in zu
bakery | die Bäckerei, Bäckereien | in in | in zu
forest | der Wald, Wälder | in in | in
lake | der See, Seen, Sees | at an | an zu
beach | der Strand, Strände | on an | an zu
bridge | die Brücke, Brücken | on auf | zu
"""
_BUILDINGS = "house school church office hotel museum library shop flat".split()
_ROOMS = "kitchen room office flat".split()
_NEAR = "house garden kitchen room flat office".split()


def _read_lines(text: str) -> list[list[str]]:
    return [line.split(" | ") for line in text.strip().splitlines()]


def _read_nouns() -> dict[str, Noun]:
    entries = [noun(e, g, "person") for e, g in _read_lines(_PEOPLE)]
    entries += [noun(e, g, "person role") for e, g in _read_lines(_ROLES)]
    entries += [noun(e, g, "person relative") for e, g in _read_lines(_RELATIVES)]
    entries += [noun(e, g, kinds) for e, g, kinds in _read_lines(_THINGS)]
    for english, german, at, to in _read_lines(_PLACES):
        kinds = "place" + " building" * (english in _BUILDINGS)
        kinds += " room" * (english in _ROOMS)
        kinds += " far" * (english not in _NEAR)
        entries.append(noun(english, german, kinds, at, to))
    return {entry.english: _with_age(entry) for entry in entries}


def _with_age(entry: Noun) -> Noun:
    """Marks who can be called old or young without contradiction."""
    if "person" not in entry.kinds or entry.english in ("boy", "girl", "child"):
        return entry
    return dataclasses.replace(entry, kinds=entry.kinds | {"adult"})


_NOUNS = _read_nouns()

_PARTS = {
    "door": "house kitchen school church office hotel shop",
    "window": "kitchen school church office",
    "roof": "house church school museum",
    "garden": "hotel school museum",
    "church": "village",
    "school": "village",
    "library": "city university school",
    "park": "city",
}
_OTHER_COMPOUNDS = """
house | Haus | key
hotel | Hotel | room key
office | Büro | key lamp chair
kitchen | Küche | table cupboard lamp knife
garden | Garten | table chair party
school | Schule | bag book trip
village | Dorf | street party
city | Stadt | map
weekend | Wochenende | trip
children's | Kind | book room
birthday | Geburtstag | present party cake
newspaper | Zeitung | article report
travel | Reise | bag
summer | Sommer | dress concert
winter | Winter | coat jacket shoe
evening | Abend | dress meeting
wine | Wein | bottle
coffee | Kaffee | cup
apple | Apfel | cake
potato | Kartoffel | soup salad
fish | Fisch | soup
night | Nacht | train
"""


def _compounds() -> list[Noun]:
    parts = [
        compound_noun(whole, _NOUNS[whole].german[0].lemma, _NOUNS[part], _NOUNS[whole])
        for part, wholes in _PARTS.items()
        for whole in wholes.split()
    ]
    others = [
        compound_noun(first, german, _NOUNS[head], None)
        for first, german, heads in _read_lines(_OTHER_COMPOUNDS)
        for head in heads.split()
        if head in _NOUNS
    ]
    return parts + others


NOUNS = (*_NOUNS.values(), *_compounds())

_TOWNS = (
    "Berlin Hamburg Munich/München Cologne/Köln Vienna/Wien Zurich/Zürich Geneva/Genf "
    "Bremen Dresden Leipzig Nuremberg/Nürnberg Rome/Rom Paris Prague/Prag "
    "Germany/Deutschland Italy/Italien Austria/Österreich France/Frankreich"
).split()
_WOMEN = "Anna Lena Maria Julia Clara Emma Laura Nina Sophie Eva".split()
_MEN = "Paul Peter Karl Martin David Simon Oliver Robert Jan Stefan".split()
_SYLLABLES = (
    "tal ber mor vin kel dra ruf fen gol har lin osk pel sti wen zar bru lom nad ker"
).split()

TOWNS = tuple(
    Name(english, german or english, "town")
    for english, _, german in (town.partition("/") for town in _TOWNS)
)
FIRST_NAMES = tuple(
    Name(name, name, kind)
    for kind, name in itertools.chain(
        (("she", name) for name in _WOMEN), (("he", name) for name in _MEN)
    )
)


def rare_name(syllables: list[str], kind: str) -> Name:
    """Returns a surname with title, or a town, that hardly occurs twice.

    Args:
        syllables: what the name is joined from.
        kind: "he" (Mr), "she" (Mrs) or "town".

    >>> rare_name(["tal", "ber"], "she").german
    'Talber'
    """
    name = "".join(syllables).capitalize()
    if kind == "town":
        return Name(name + "heim", name + "heim", kind)
    return Name(name, name, kind, title="Mr" if kind == "he" else "Mrs")


SYLLABLES = tuple(_SYLLABLES)
