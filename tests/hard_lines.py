r"""Lines that break careless programs: one list for each kind.

All are text, so no bytes that are not UTF-8 and no `\n`; `INVALID_UTF8` has the
former as bytes. Characters that an editor hides are written as escapes.
"""

import itertools

#: Every code point that Unicode, Python or SentencePiece takes for a blank.
BLANKS = (
    "\t\x0b\x0c\x1c\x1d\x1e\x1f \x85\xa0\u1680\u180e\u2000\u2001\u2002\u2003"
    "\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u2581\u3000"
)
#: Code points of no width: joiners, marks of direction, the byte-order mark.
ZERO_WIDTH = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u200b\u200c\u200d\u200e\u200f\u202a"
    "\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069"
    "\ufe0e\ufe0f\ufeff\ufff9\ufffa\ufffb\U000e0001\U000e0020\U000e007f"
)
CONTROLS = [chr(i) for i in range(32) if chr(i) != "\n"] + [
    chr(i) for i in range(0x7F, 0xA0)
]

LONG = {
    "equal_words": " ".join(["dog"] * 10_000),
    "one_word": "cat" * 3_000,
    "one_letter": "a" * 5_000,
    "digits": "1234567890" * 300,
    "sentences": "The dog sees a cat. " * 500,
    "chinese": "一只狗看见一只猫。" * 400,
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 500,
    "combining": "o" + "\u0308" * 3_000,
    "blanks": " " * 20_000,
    "stops": "." * 4_000,
    "blanks_and_letters": " . " * 3_000,
}

LINES = {
    "empty": [""],
    "blanks": [
        *BLANKS,
        *(f"dog{blank}cat" for blank in BLANKS),
        *(f"{blank}dog{blank}" for blank in "\t\x0b\x0c\x85\xa0\u2028\u2029\u3000"),
        BLANKS,
        " " * 1000,
        "\t" * 100,
        "dog" + " " * 500 + "cat",
        "  two  blanks  everywhere  ",
    ],
    "one_character": [
        *"aZ0.,;:!?'\"-()[]{}<>/\\|@#$%^&*_+=~`",
        *"äßéñøœŁİıſΩжשعกक한あア中龍𝒳𐍈",
    ],
    "emoji": [
        "\U0001f600",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "\U0001f1e9\U0001f1ea\U0001f1ec\U0001f1e7",
        "\U0001f44d\U0001f3fd \U0001f44d\U0001f3ff",
        "1\ufe0f\u20e3 2\ufe0f\u20e3 #\ufe0f\u20e3",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "The dog \U0001f436 sees the cat \U0001f431.",
        "\u200d\U0001f467\u200d",
        "\U0001f600" * 200,
        "\u263a\ufe0e \u263a\ufe0f",
    ],
    "combining": [
        "u\u0308ber and \xfcber",
        "e\u0301\u0327 and \u0229\u0301",
        "\u0301",
        "\u0301dog",
        "d\u0336o\u0336g\u0336",
        "Z" + "\u0300\u0301\u0302\u0303\u0304" * 20,
        "\u1112\u1161\u11ab\u1100\u116e\u11a8",
        "\ufb01nd the \ufb03 in o\ufb03ce",
        "ﾊﾝｶｸ ＦＵＬＬ　ＷＩＤＴＨ １２３",
        "\u212b \xc5 A\u030a",
        "\u2460\u2461\u2462 \xbd \u2153 x\xb2 H\u2082O",
        "\u1e9b\u0323",
        "\u0915\u094d\u0937 \u0ba8\u0bbf",
    ],
    "right_to_left": [
        "הכלב רואה את החתול",
        "الكلب يرى القطة",
        "The word כלב is dog, كلب is dog too.",
        "\u202eThe dog is written backwards\u202c, it seems.",
        "\u2067כלב\u2069 (dog) \u2066cat\u2069",
        "שָׁלוֹם",
        "بِسْمِ",
        "123 כלב 456 كلب 789",
        "(כלב)",
        "سگ گربه را می\u200cبیند",
    ],
    "mixed_scripts": [
        "Собака видит кошку.",
        "Ο σκύλος βλέπει τη γάτα.",
        "狗看见猫。",
        "犬は猫を見ます。",
        "개가 고양이를 본다.",
        "หมาเห็นแมว",
        "कुत्ता बिल्ली देखता है।",
        "Dоg with a Cyrillic о",
        "Dog собака σκύλος 狗 犬 개 หมา कुत्ता כלב كلب",
        "ẞtraße STRASSE straße",
        "İstanbul ISTANBUL ıstanbul",
        "ｄｏｇ ＤＯＧ",
        "𝔡𝔬𝔤 𝕕𝕠𝕘 𝒹ℴℊ",
        "𐌳𐌿𐌲 𒀭 𓃡",
        "ᏣᎳᎩ ᚱᚢᚾ ⠙⠕⠛",
    ],
    "controls": [*CONTROLS, *(f"dog{c}cat" for c in CONTROLS), "".join(CONTROLS)],
    "zero_width": [
        *ZERO_WIDTH,
        *(f"do{c}g" for c in ZERO_WIDTH),
        ZERO_WIDTH,
        "\ufeffThe dog begins with a byte-order mark.",
        "\ufeff",
        "\ufffe\uffff",
        "\ufffd \ufffd\ufffd",
        "\ue000 \uf8ff \U0010fffd",
        "\ufdd0 \U0001fffe \U0010ffff",
        "\u0378 \U000e0fff",
    ],
    "line_ends": [
        "The dog ends in CR\r",
        "The dog\rthe cat",
        "\r",
        "\r\r\r",
        "The dog\u2028the cat\u2029the house",
        "The dog\x85the cat\x0bthe house\x0cthe tree",
        "dog\x1ccat\x1dhouse\x1etree",
        "dog\tcat\thouse",
        "\tdog\t",
        "\\n \\r\\n \\u2028",
    ],
    "markup": [
        "<b>The dog</b> sees <i class='x'>the cat</i>.",
        "&lt;dog&gt; &amp; &quot;cat&quot; &#8364; &nbsp;",
        "<!-- dog --> <![CDATA[ cat ]]> <?xml version='1.0'?>",
        "**dog** _cat_ [house](https://example.org/a?b=c&d=e#f)",
        "\\begin{document} $x_1^2 \\leq \\frac{a}{b}$ \\end{document}",
        "<<<<<<< >>>>>>> ======= |||||||",
        "{{dog|cat}} [[house]] '''tree'''",
        "<dog",
        "</dog",
        "]]>",
        "<script>alert('dog')</script>",
    ],
    "addresses": [
        "https://example.org/dog?cat=1&house=%20%C3%A4#tree",
        "http://xn--hnd-1na.example/",
        "dog.cat+house@example.org",
        "/usr/share/dog/cat.tar.gz",
        "C:\\dog\\cat\\..\\house",
        "file:///../../../etc/passwd",
        "//[2001:db8::1]:8080/dog",
        "data:text/plain;base64,ZG9nIGNhdA==",
        "@dog #cat",
    ],
    "code": [
        'for (int i = 0; i < n; ++i) { printf("%d\\n", dog[i]); }',
        "def dog(cat: int = 1) -> str: return f'{cat!r}'",
        "SELECT * FROM dog WHERE cat = 'house' -- tree",
        "'; DROP TABLE dog; --",
        "rm -rf $DOG && `cat` | $(house) > /dev/null",
        '{"dog": [1, 2.5e-10, null, true], "cat": {}}',
        "%s %d %n {0} {} ${dog} %(cat)s",
        "^(?:dog|cat)+.*[a-z]{2,}$",
        "0x7fffffff 1e308 -1e308 nan inf -0.0",
        "a" + "=" * 80 + "b",
        "null None undefined NaN",
    ],
    "numbers": [
        "0",
        "-1",
        "1,000,000.00 and 1.000.000,00",
        "123456789012345678901234567890123456789012345678901234567890",
        "3." + "14159265358979323846" * 3,
        "9" * 60 + " dogs and " + "1" * 60 + " cats",
        "2024-02-30T25:61:61Z",
        "+49 (0) 30 / 123-456",
        "€ 1’000.50 £3 ¥500 ₿0.1",
        "٠١٢٣٤٥٦٧٨٩ ०१२३ Ⅷ 五十",
        "1/2 1⁄2 10⁻⁶ ∑∫√∞≠",
        "1" + ",000" * 50,
    ],
    "repeated": [
        "dog " * 50,
        "no no no no no no no no",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "ha" * 60,
        "!" * 100,
        "..." * 30,
        "- - - - - - - -",
        "dog, dog, dog, dog and dog.",
        "the the the cat cat",
    ],
    "reserved": [
        "<pad>",
        "<unk>",
        "<s>",
        "</s>",
        "<mask>",
        "The <mask> sees <mask>.",
        "<s> The dog sees the cat . </s>",
        "<mask><mask><mask>",
        "</s></s> dog",
        "<pad> <pad> dog <pad>",
        "\u2581",
        "\u2581dog\u2581cat",
        "\u2581<mask>",
        "<0x0A>",
        "<0x00> <0xFF> <0x41>",
        "dog<0x0A>cat",
        "<2de> dog",
        "[MASK] [CLS] [SEP] [PAD] <|endoftext|>",
        "⁇ \u2047 dog",
        "<MASK> < mask > ＜mask＞",
        "&lt;mask&gt;",
        "\u2585 dog \u2585",
        "\x00\x01\x02\x03\x04",
    ],
    "target_language": [
        "Der Hund sieht eine Katze.",
        "Die Straße ist naß, über Äpfel und Öl.",
        "„Ja“, sagte er – ‚nein‘.",
        "Der dog sieht the Katze.",
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    ],
    "capitals": [
        "THE DOG SEES THE CAT!!!",
        "tHe DoG sEeS tHe CaT",
        "the dog sees the cat",
        "T H E D O G",
        "The-dog-sees-the-cat",
        "TheDogSeesTheCat",
        "thedogseesthecat",
    ],
    "quotes": [
        "\"dog\" 'cat' “house” ‘tree’ «boat» »river« ‹a› „b‟",
        "'",
        '"""',
        "don't can’t won`t o´clock",
        "dog—cat–house-tree‐boat‑river−1",
        "etc... etc… etc. . .",
        "(((dog)))",
        ")(",
    ],
}

#: Text that a file cannot hold: surrogates without their pair.
SURROGATES = ["\ud800", "dog \udfff cat", "\udc80\udcff", "\ud83d \ude00", "a\ud800b"]

#: Bytes that are not UTF-8, each of them one line.
INVALID_UTF8 = [
    b"\xff",
    b"dog \x80 cat",
    b"\xc0\xaf",
    b"caf\xe9",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"dog \xe2\x82",
    b"\xfe\xff\x00d\x00o\x00g",
    b"\xf0\x9f\x98",
]


def all_lines() -> list[str]:
    """Every line that a UTF-8 file can hold, but the long ones."""
    return list(itertools.chain.from_iterable(LINES.values()))
