"""The verbs, by the frame in which they stand."""

from cmlm_tf.data.grammar.conjugation import german_verb
from cmlm_tf.data.grammar.words import Modal, verb

_GIVE = "geben, gibt, gab, gegeben"
_READ = "lesen, liest, las, gelesen"
_SEE = "sehen, sieht, sah, gesehen"
_BRING = "bringen, bringt, brachte, gebracht"
_SPEAK = "sprechen, spricht, sprach, gesprochen"
_GO = "gehen, geht, ging, ist gegangen"
_COME = "kommen, kommt, kam, ist gekommen"
_DRIVE = "fahren, fährt, fuhr, ist gefahren"
_LEND = "leihen, leiht, lieh, geliehen"
_WRITE = "schreiben, schreibt, schrieb, geschrieben"
_FIND = "finden, findet, fand, gefunden"
_CLOSE = "schließen, schließt, schloss, geschlossen"
_RUN = "rennen, rennt, rannte, ist gerannt"
_WALK = "laufen, läuft, lief, ist gelaufen"
_STAY = "bleiben, bleibt, blieb, ist geblieben"
_THINK = "denken, denkt, dachte, gedacht"
_HOLD = "halten, hält, hielt, gehalten"

TRANSITIVE = (
    verb(
        "buy bought bought",
        "kaufen",
        "portable food clothing vehicle readable furniture fresh",
    ),
    verb(
        "sell sold sold", "verkaufen", "portable food clothing vehicle furniture animal"
    ),
    verb("read read read", _READ, "readable"),
    verb("write wrote written", _WRITE, "writable"),
    verb("open", f"auf|machen / öffnen / auf|{_CLOSE}", "openable"),
    verb("close", f"zu|machen / {_CLOSE}", "openable"),
    verb("call", "an|rufen, ruft, rief, gerufen", "person"),
    verb("visit", "besuchen", "person building"),
    verb("help", "helfen, hilft, half, geholfen; D", "person"),
    verb("thank", "danken; D", "person"),
    verb("meet met met", "treffen, trifft, traf, getroffen", "person"),
    verb("invite", "ein|laden, lädt, lud, geladen", "person"),
    verb("pick +up", "ab|holen", "person"),
    verb("see saw seen", _SEE, "person animal watched building", False),
    verb(
        "look ~for", "suchen / suchen; nach D", "portable person animal place clothing"
    ),
    verb("find found found", _FIND, "portable animal clothing", False),
    verb("lose lost lost", "verlieren, verliert, verlor, verloren", "portable", False),
    verb(
        "forget forgot forgotten",
        "vergessen, vergisst, vergaß, vergessen",
        "packed",
        False,
    ),
    verb("need", "brauchen / benötigen", "portable food vehicle device", False),
    verb("know knew known", "kennen, kennt, kannte, gekannt", "person place", False),
    verb("love", "lieben", "person animal place drink", False),
    verb(
        "understand understood understood",
        "verstehen, versteht, verstand, verstanden",
        "person readable",
        False,
    ),
    verb("eat ate eaten", "essen, isst, aß, gegessen", "food"),
    verb("drink drank drunk", "trinken, trinkt, trank, getrunken", "drink"),
    verb("cook", "kochen", "cookable"),
    verb("order", "bestellen", "food drink portable"),
    verb("bring brought brought", f"mit|{_BRING}", "portable food drink readable"),
    verb("repair", "reparieren", "machine"),
    verb("clean", "putzen / reinigen", "vehicle room clothing part"),
    verb("wash", "waschen, wäscht, wusch, gewaschen", "clothing vehicle"),
    verb("tidy +up", "auf|räumen", "room"),
    verb("watch", f"sich-D an|{_SEE} / sich-D an|schauen", "watched"),
    verb("put put put +on", "an|ziehen, zieht, zog, gezogen", "clothing"),
    verb("take took taken +off", "aus|ziehen, zieht, zog, gezogen", "clothing"),
    verb("turn +on", "an|machen / ein|schalten", "device"),
    verb("turn +off", "aus|machen / aus|schalten", "device"),
    verb("pack", "packen", "packed"),
    verb("wear wore worn", "tragen, trägt, trug, getragen", "clothing"),
    verb("choose chose chosen", "aus|wählen / sich-D aus|suchen", "thing clothing"),
    verb("use", "benutzen / verwenden", "device vehicle machine"),
    verb("hide hid hidden", "verstecken", "portable"),
    verb("borrow", f"aus|{_LEND} / sich-D {_LEND}", "readable vehicle"),
    verb("paint", "malen", "animal building"),
    verb("throw threw thrown +away", "weg|werfen, wirft, warf, geworfen", "portable"),
    verb("wait ~for", "warten; auf A", "person transport"),
    verb("think thought thought ~of", f"{_THINK}; an A", "relative event"),
    verb("talk ~to", f"{_SPEAK}; mit D / reden; mit D", "person"),
    verb("talk ~about", f"{_SPEAK}; über A / reden; über A", "event watched readable"),
    verb("laugh ~about", "lachen; über A", "told watched"),
    verb("look ~forward to", "sich freuen; auf A", "event watched", False),
    verb("remember", "sich erinnern; an A", "person event told", False),
    verb("look ~after", "auf|passen; auf A / sich kümmern; um A", "relative animal"),
    verb(
        "take took taken ~part in", "teil|nehmen, nimmt, nahm, genommen; an D", "event"
    ),
)

DITRANSITIVE = (
    verb("give gave given", _GIVE, "portable food clothing readable"),
    verb("show showed shown", "zeigen", "portable clothing readable building"),
    verb("send sent sent", "schicken / senden", "writable"),
    verb("bring brought brought", _BRING, "portable food drink"),
    verb("lend lent lent", _LEND, "vehicle portable clothing"),
    verb("sell sold sold", "verkaufen", "vehicle animal furniture"),
    verb("write wrote written", _WRITE, "writable"),
    verb("tell told told", "erzählen", "told"),
)
#: English has only `to` before the recipient: the object comes first.
WITH_TO = (
    verb(
        "recommend",
        "empfehlen, empfiehlt, empfahl, empfohlen",
        "watched readable building",
    ),
    verb("explain", "erklären", "machine readable"),
    verb("return", f"zurück|{_GIVE}", "portable readable vehicle"),
    verb(
        "describe", "beschreiben, beschreibt, beschrieb, beschrieben", "building person"
    ),
)

MOTION = (
    verb("go went gone", f"{_GO} / {_DRIVE}"),
    verb("drive drove driven", _DRIVE),
    verb("walk", f"{_GO} / {_WALK}"),
    verb("run ran run", f"{_RUN} / {_WALK}"),
    verb("come came come", _COME),
    verb("return", f"zurück|{_COME} / zurück|kehren, kehrt, kehrte, ist gekehrt"),
)
TRAVEL = (
    verb("travel", f"reisen, reist, reiste, ist gereist / {_DRIVE}"),
    verb("fly flew flown", "fliegen, fliegt, flog, ist geflogen"),
    verb("drive drove driven", _DRIVE),
    verb("move", "um|ziehen, zieht, zog, ist gezogen"),
    verb("come came come", _COME),
)

INTRANSITIVE = (
    verb("work", "arbeiten"),
    verb("sleep slept slept", "schlafen, schläft, schlief, geschlafen"),
    verb("dance", "tanzen"),
    verb("sing sang sung", "singen, singt, sang, gesungen"),
    verb("laugh", "lachen"),
    verb("wait", "warten"),
    verb("rest", "sich aus|ruhen / sich erholen"),
)
#: What is not done at a place that can be named.
WITHOUT_PLACE = (
    verb("hurry", "sich beeilen"),
    verb("swim swam swum", "schwimmen, schwimmt, schwamm, ist geschwommen"),
    verb("get got got ~up", "auf|stehen, steht, stand, ist gestanden"),
    verb("wake woke woken ~up", "auf|wachen, wacht, wachte, ist gewacht", willed=False),
    verb(
        "fall fell fallen ~asleep",
        "ein|schlafen, schläft, schlief, ist geschlafen",
        willed=False,
    ),
    verb("stay ~at home", f"zu Hause |{_STAY} / daheim |{_STAY}"),
    verb("go went gone ~for a walk", f"spazieren |{_GO}"),
    verb("go went gone ~shopping", "ein|kaufen"),
    verb("watch ~television", f"fern|{_SEE}"),
    verb("come came come ~home", f"nach Hause |{_COME} / heim|{_COME}"),
)

#: Their subject is an event, a film or a means of transport.
EVENT = (
    verb(
        "begin began begun",
        "beginnen, beginnt, begann, begonnen / an|fangen, fängt, fing, gefangen",
    ),
    verb(
        "start",
        "an|fangen, fängt, fing, gefangen / beginnen, beginnt, begann, begonnen",
    ),
    verb("end", "enden / auf|hören"),
)
TRANSPORT = (
    verb("arrive", f"an|{_COME}"),
    verb("leave left left", f"ab|{_DRIVE}"),
    verb("stop", f"{_HOLD} / an|{_HOLD}"),
)

WEATHER = (verb("rain", "regnen"), verb("snow", "schneien"))
BE = verb("be was been", "sein, ist, war, ist gewesen", willed=False)
THERE_IS = verb("be was been", _GIVE, willed=False)

SAY = verb("say said said", "sagen", willed=False)
ASK = verb("ask", "fragen", willed=False)
THINK = verb("think thought thought", "glauben / " + _THINK, willed=False)
KNOW = verb("know knew known", "wissen, weiß, wusste, gewusst", willed=False)
#: Verbs that report a clause; those with True may drop `dass`.
REPORT = {
    SAY: True,
    THINK: True,
    verb("believe", "glauben", willed=False): True,
    verb("hope", "hoffen", willed=False): True,
    KNOW: False,
    verb("hear heard heard", "hören", willed=False): False,
}
_CAN = german_verb("können, kann, konnte, gekonnt")
_MUST = german_verb("müssen, muss, musste, gemusst")
_WANT = german_verb("wollen, will, wollte, gewollt")
_WOULD_LIKE = german_verb("mögen, möchte, mochte, gemocht")
_SHOULD = german_verb("sollen, soll, sollte, gesollt")
_MAY = german_verb("dürfen, darf, durfte, gedurft")

CAN = Modal("can", "", "could", (_CAN,))
MUST = Modal("must", "", "", (_MUST,))
SHOULD = Modal("should", "", "", (_SHOULD,))
MODALS = (
    CAN,
    MUST,
    SHOULD,
    Modal("", "want to", "wanted to", (_WANT, _WOULD_LIKE)),
    Modal("", "have to", "had to", (_MUST,)),
    Modal("would", "like to", "", (_WOULD_LIKE,)),
    Modal("may", "", "", (_MAY, _CAN)),
)
