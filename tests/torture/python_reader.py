"""Reads JSON texts, one per line in hexadecimal, with Python's json module.

Prints one line for each: "reject", or "accept" and the value in the spelling that
cases.txt describes. The bytes go in as they are, so the module guesses the encoding itself.
"""
import json
import math
import struct
import sys


def string(text):
    out = []
    for unit in struct.unpack("<%dH" % (len(raw := text.encode("utf-16-le", "surrogatepass")) // 2), raw):
        char = chr(unit)
        plain = 0x20 <= unit < 0x7F and char not in '"\\<|'
        out.append(char if plain else "\\u%04x" % unit)
    return '"' + "".join(out) + '"'


def number(value):
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    if value.is_integer() and abs(value) <= 2.0**64:
        return str(int(value))
    return "f:" + struct.pack(">d", value).hex()


def spelled(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, list):
        return "[" + ",".join(map(spelled, value)) + "]"
    return "{" + ",".join(string(key) + ":" + spelled(member) for key, member in value.items()) + "}"


def main():
    for line in sys.stdin:
        try:
            value = json.loads(bytes.fromhex(line.strip()))
        except (ValueError, RecursionError):
            print("reject")
        else:
            print("accept", spelled(value))


if __name__ == "__main__":
    main()
