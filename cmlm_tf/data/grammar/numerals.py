"""Numbers in words and digits, English and German."""

_ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
_ENGLISH_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
_GERMAN = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn "
    "vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn"
).split()
_GERMAN_TENS = (
    "_ _ zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
)


def english_number(number: int) -> str:
    """Returns the words for 0 to 999.

    >>> english_number(322)
    'three hundred and twenty-two'
    """
    hundreds, rest = divmod(number, 100)
    if hundreds:
        head = f"{_ENGLISH[hundreds]} hundred"
        return f"{head} and {english_number(rest)}" if rest else head
    if rest < 20:
        return _ENGLISH[rest]
    tens, units = divmod(rest, 10)
    return _ENGLISH_TENS[tens] + (f"-{_ENGLISH[units]}" if units else "")


def german_number(number: int, full: bool = True) -> str:
    """Returns the word for 0 to 999.

    Args:
        number: the number.
        full: whether 100 to 199 start with `einhundert`, else `hundert`.

    >>> german_number(322), german_number(121, full=False)
    ('dreihundertzweiundzwanzig', 'hunderteinundzwanzig')
    """
    hundreds, rest = divmod(number, 100)
    if hundreds:
        head = _joined(hundreds) if hundreds > 1 or full else ""
        return f"{head}hundert" + (german_number(rest) if rest else "")
    if rest < 20:
        return _GERMAN[rest]
    tens, units = divmod(rest, 10)
    return (f"{_joined(units)}und" if units else "") + _GERMAN_TENS[tens]


def german_numbers(number: int) -> tuple[str, ...]:
    """Returns all spellings in words, the usual one first.

    >>> german_numbers(105)
    ('hundertfünf', 'einhundertfünf')
    """
    return tuple(dict.fromkeys(german_number(number, full) for full in (False, True)))


def english_digits(number: float, decimals: int = 0) -> str:
    """Returns digits with decimal point and comma groups.

    >>> english_digits(1250), english_digits(12.5, 2)
    ('1,250', '12.50')
    """
    return f"{number:,.{decimals}f}"


def german_digits(number: float, decimals: int = 0) -> str:
    """Returns digits with decimal comma and point groups.

    >>> german_digits(1250), german_digits(12.5, 2)
    ('1.250', '12,50')
    """
    return english_digits(number, decimals).translate(str.maketrans(",.", ".,"))


def _joined(unit: int) -> str:
    return "ein" if unit == 1 else _GERMAN[unit]
