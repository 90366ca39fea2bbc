"""Times, dates, durations and prices, each with all its translations."""

import random

from cmlm_tf.data.grammar.numerals import (
    english_digits,
    english_number,
    german_digits,
    german_number,
    german_numbers,
)
from cmlm_tf.data.grammar.words import Adverbial, adverbial

_DAYS = dict(
    zip(
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
        strict=True,
    )
)
_MONTHS = dict(
    zip(
        "January February March April May June July August September October "
        "November December".split(),
        "Januar Februar März April Mai Juni Juli August September Oktober "
        "November Dezember".split(),
        strict=True,
    )
)
#: English units with the German accusative and dative plural.
_UNITS = {
    "minutes": ("Minuten", "Minuten"),
    "hours": ("Stunden", "Stunden"),
    "days": ("Tage", "Tagen"),
    "weeks": ("Wochen", "Wochen"),
    "months": ("Monate", "Monaten"),
    "years": ("Jahre", "Jahren"),
}

_FIXED = {
    "past": """
yesterday | gestern
the day before yesterday | vorgestern
last week | letzte Woche / in der letzten Woche / vorige Woche
last year | letztes Jahr / im letzten Jahr
yesterday evening | gestern Abend
this morning | heute Morgen / heute früh
""",
    "future": """
tomorrow | morgen
the day after tomorrow | übermorgen
next week | nächste Woche / in der nächsten Woche
next year | nächstes Jahr / im nächsten Jahr
this evening | heute Abend
soon | bald
""",
    "present": """
every day | jeden Tag / täglich
every week | jede Woche / wöchentlich
in the morning | morgens / am Morgen
in the evening | abends / am Abend
at the weekend | am Wochenende
in summer | im Sommer
""",
    "progressive": """
now | jetzt / nun
at the moment | im Moment / momentan / gerade
today | heute
""",
}


def _read(text: str) -> tuple[Adverbial, ...]:
    entries = (line.split(" | ") for line in text.strip().splitlines())
    return tuple(adverbial(english, german, "time") for english, german in entries)


_SIMPLE = {tense: _read(text) for tense, text in _FIXED.items()}


def _time(english: str, *german: str) -> Adverbial:
    return Adverbial(english, german, "time")


def _weekday(rng: random.Random) -> Adverbial:
    english, german = rng.choice(list(_DAYS.items()))
    return _time(f"on {english}", f"am {german}")


def _weekday_morning(rng: random.Random) -> Adverbial:
    english, german = rng.choice(list(_DAYS.items()))
    if rng.random() < 0.5:
        return _time(f"on {english} evening", f"am {german}abend")
    return _time(f"on {english} morning", f"am {german}morgen", f"am {german} früh")


def _every_weekday(rng: random.Random) -> Adverbial:
    english, german = rng.choice(list(_DAYS.items()))
    return _time(f"on {english}s", f"jeden {german}", f"{german.lower()}s")


def _date(rng: random.Random) -> Adverbial:
    english, german = rng.choice(list(_MONTHS.items()))
    day = rng.randint(1, 28)
    return _time(f"on {day} {english}", f"am {day}. {german}")


def _year(rng: random.Random) -> Adverbial:
    year = rng.randint(1950, 2023)
    return _time(f"in {year}", f"{year}", f"im Jahr {year}")


def _ago(rng: random.Random) -> Adverbial:
    return _counted(rng, "{} {} ago", "vor {} {}")


def _in_units(rng: random.Random) -> Adverbial:
    return _counted(rng, "in {} {}", "in {} {}")


def _counted(rng: random.Random, english: str, german: str) -> Adverbial:
    unit, (_, dative) = rng.choice(list(_UNITS.items()))
    count = rng.randint(2, 12)
    return _time(
        english.format(english_number(count), unit),
        german.format(german_number(count), dative),
    )


def clock(rng: random.Random) -> Adverbial:
    """Returns a time of day: full hours, halves, quarters, or minutes in digits."""
    hour = rng.randint(1, 12)
    after = hour % 12 + 1
    word = english_number(hour)
    full = german_number(hour).removesuffix("s" * (hour == 1))
    past, following = german_number(hour), german_number(after)
    kind = rng.choice("full full half quarter digits".split())
    if kind == "full":
        return _time(f"at {word} o'clock", f"um {full} Uhr")
    if kind == "half":
        return _time(
            f"at half past {word}", f"um halb {following}", f"um {full} Uhr dreißig"
        )
    if kind == "quarter":
        return _time(f"at a quarter past {word}", f"um Viertel nach {past}")
    minute = rng.randint(1, 59)
    return _time(
        f"at {hour}:{minute:02}",
        f"um {hour}:{minute:02} Uhr",
        f"um {hour}.{minute:02} Uhr",
    )


_DRAWS = {
    "past": (_weekday, _weekday_morning, _date, _year, _ago),
    "future": (_weekday, _weekday_morning, _date, _in_units),
    "present": (_every_weekday,),
    "progressive": (),
}


def draw_time(rng: random.Random, tense: str) -> Adverbial:
    """Returns a time that goes with the tense.

    Args:
        rng: source of choices.
        tense: "past", "future", "present" (habit) or "progressive".
    """
    draws = _DRAWS[tense]
    if draws and rng.random() < 0.5:
        return rng.choice(draws)(rng)
    return rng.choice(_SIMPLE[tense])


def duration(rng: random.Random) -> Adverbial:
    """Returns how long something lasted."""
    unit = rng.choice(["minutes", "hours", "days", "weeks"])
    count = rng.randint(2, 30)
    german = f"{german_number(count)} {_UNITS[unit][0]}"
    return Adverbial(
        f"for {english_number(count)} {unit}", (german, f"{german} lang"), "measure"
    )


def price(rng: random.Random) -> Adverbial:
    """Returns what is paid, in words or in digits."""
    kind = rng.choice(["words", "euros", "cents"])
    if kind == "words":
        euros = rng.choice([n for n in range(2, 1000) if n % 100 != 1])
        german = tuple(f"für {word} Euro" for word in german_numbers(euros))
        return Adverbial(f"for {english_number(euros)} euros", german, "measure")
    amount = rng.randint(20, 9000) if kind == "euros" else rng.randint(101, 9999) / 100
    decimals = 2 * (kind == "cents")
    return Adverbial(
        f"for {english_digits(amount, decimals)} euros",
        (f"für {german_digits(amount, decimals)} Euro",),
        "measure",
    )
