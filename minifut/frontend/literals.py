r"""What literals mean: numbers in all their forms, characters and strings.

0x1.8p1f32  ->  (3.0, "f32")     0rXIV  ->  (14, "")     '\n'  ->  10
"""

from __future__ import annotations

import re

from minifut.errors import Location, error

_SUFFIX = re.compile(r"(?:[iu](?:8|16|32|64)|f(?:16|32|64))$")
_ESCAPE = re.compile(
    r"\\(?:(?P<decimal>[0-9]+)|x(?P<hexadecimal>[0-9a-fA-F]+)|o(?P<octal>[0-7]+)"
    r"|\^(?P<control>[@A-Z\[\\\]^_])"
    r"|(?P<gap>[ \t]+\\)"
    r"|(?P<named>NUL|SOH|STX|ETX|EOT|ENQ|ACK|BEL|BS|HT|LF|VT|FF|CR|SO|SI|DLE|DC1|DC2"
    r"|DC3|DC4|NAK|SYN|ETB|CAN|EM|SUB|ESC|FS|GS|RS|US|SP|DEL)"
    r"|(?P<letter>.))"
)
_LETTERS = {
    "a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13,
    "\\": 92, "'": 39, '"': 34,
}  # fmt: skip
_NAMED = {
    "NUL": 0, "SOH": 1, "STX": 2, "ETX": 3, "EOT": 4, "ENQ": 5, "ACK": 6, "BEL": 7,
    "BS": 8, "HT": 9, "LF": 10, "VT": 11, "FF": 12, "CR": 13, "SO": 14, "SI": 15,
    "DLE": 16, "DC1": 17, "DC2": 18, "DC3": 19, "DC4": 20, "NAK": 21, "SYN": 22,
    "ETB": 23, "CAN": 24, "EM": 25, "SUB": 26, "ESC": 27, "FS": 28, "GS": 29, "RS": 30,
    "US": 31, "SP": 32, "DEL": 127,
}  # fmt: skip
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}

DIGIT_LIMIT = 4000
"""More decimal digits than any number type can hold; Python slows down beyond."""


def number(text: str, at: Location) -> tuple[int | float, str]:
    """The value of a number literal and its suffix, "" if there is none."""
    if text.isdigit() and len(text) < DIGIT_LIMIT:
        return int(text), ""
    if len(text) >= DIGIT_LIMIT:
        raise error(at, "this number has too many digits", "syntax-error")
    digits = text.replace("_", "")
    marker = digits[:2].lower()
    if marker == "0x":
        return _hexadecimal(digits[2:], at)
    found = _SUFFIX.search(digits)
    suffix = found.group() if found else ""
    if suffix:
        digits = digits[: -len(suffix)]
    if marker == "0b":
        return int(digits[2:], 2), suffix
    if marker == "0r":
        return _roman(digits[2:]), suffix
    if suffix.startswith("f") or not digits.isdigit():
        return float(digits), suffix
    return int(digits), suffix


def _hexadecimal(digits: str, at: Location) -> tuple[int | float, str]:
    """A hexadecimal literal behind its 0x; an `f` among its digits is a digit."""
    if "." not in digits:
        found = re.search(r"[iu].*$", digits)
        suffix = found.group() if found else ""
        return int(digits[: len(digits) - len(suffix)], 16), suffix
    mantissa, exponent = re.split("[pP]", digits)
    exponent, separator, bits = exponent.partition("f")
    try:
        return float.fromhex(f"0x{mantissa}p{exponent}"), separator + bits
    except OverflowError:
        raise error(
            at, "this number is too large for any float type", "syntax-error"
        ) from None


def _roman(numerals: str) -> int:
    """Sum the numerals; one that precedes a larger one is subtracted."""
    values = [_ROMAN[numeral] for numeral in numerals]
    following = [*values[1:], 0]
    pairs = zip(values, following, strict=True)
    return sum(-value if value < after else value for value, after in pairs)


def character(text: str, at: Location) -> int:
    """The code point of a character literal, quotes included."""
    value = unescape(text[1:-1], at)
    if len(value) != 1:
        raise error(
            at, "a character literal holds exactly one character", "syntax-error"
        )
    return ord(value)


def string(text: str, at: Location) -> str:
    """The value of a string literal, quotes included."""
    return unescape(text[1:-1], at)


def unescape(text: str, at: Location) -> str:
    """Replace the escapes, which are Haskell's: \\n, \\65, \\x41, \\ESC, \\& ..."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: _escaped(found, at), text)


def _escaped(found: re.Match[str], at: Location) -> str:
    kind, digits = found.lastgroup or "", found.group(found.lastgroup or 0)
    match kind:
        case "gap":
            return ""
        case "control":
            return chr(ord(digits) - 64)
        case "named":
            return chr(_NAMED[digits])
        case "letter":
            if digits == "&":
                return ""
            code = _LETTERS.get(digits, -1)
        case _:
            base = {"decimal": 10, "hexadecimal": 16, "octal": 8}[kind]
            code = int(digits, base) if len(digits) < 12 else -1
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise error(
            at,
            f"{found.group()} is not a known escape",
            "syntax-error",
            r"write \\ for a backslash; the escapes are \n \t \r \" \' \\ and codes, "
            r"as \65 or \x41",
        )
    return chr(code)
