#!/usr/bin/env python3
"""Prints the tables of docs/decision.md.

They come from another implementation of XXH3 than the one under test: the `xxhash` package of PyPI.
  python3 -m venv /tmp/venv && /tmp/venv/bin/pip install xxhash
  /tmp/venv/bin/python tests/unit/migration/decision_vectors.py
"""

import xxhash


def decode(notation):
    kind, _, value = notation.partition(":")
    if kind == "text":
        return value.encode()
    if kind == "hex":
        return bytes.fromhex(value)
    assert kind == "seq"
    return bytes(i % 251 for i in range(int(value)))


def bucket_of(h):
    return h * 1_000_000 >> 64


VECTORS = [
    # What a fleet has: the name of a data center as salt, paths as keys.
    ("text:ams", "text:/img/00000001.jpg"),
    ("text:ams", "text:/img/00000002.jpg"),
    ("text:fra", "text:/img/00000001.jpg"),
    ("text:sfo-large-1", "text:https://example.com/video/segment-17.ts?quality=1080p"),
    ("text:ams", "text:caf\u00e9"),
    # Every branch of XXH3 by the length of the key, with both of its ends.
    ("text:ams", "text:"),
    ("text:ams", "text:a"),
    ("text:ams", "seq:3"),
    ("text:ams", "seq:4"),
    ("text:ams", "seq:8"),
    ("text:ams", "seq:9"),
    ("text:ams", "seq:16"),
    ("text:ams", "seq:17"),
    ("text:ams", "seq:128"),
    ("text:ams", "seq:129"),
    ("text:ams", "seq:240"),
    ("text:ams", "seq:241"),
    ("text:ams", "seq:1023"),
    ("text:ams", "seq:1024"),
    ("text:ams", "seq:1025"),
    ("text:ams", "seq:16384"),
    # Keys are bytes.
    ("text:ams", "hex:00"),
    ("text:ams", "hex:0000"),
    ("text:ams", "hex:ff00fe80c3280d0a"),
    ("text:ams", "hex:2f696d672f00312e6a7067"),
    # Salts are bytes too, of any length.
    ("text:", "text:"),
    ("text:", "text:/img/00000001.jpg"),
    ("text:", "seq:1024"),
    ("hex:00", "text:/img/00000001.jpg"),
    ("hex:fffe00", "hex:00ff"),
    ("text:a-data-center-with-a-long-name", "text:/img/00000001.jpg"),
    ("seq:300", "text:/img/00000001.jpg"),
    ("seq:300", "seq:300"),
]

print("| salt | key | seed | hash | bucket |")
print("| --- | --- | --- | --- | --- |")
for salt, key in VECTORS:
    seed = xxhash.xxh3_64_intdigest(decode(salt))
    h = xxhash.xxh3_64_intdigest(decode(key), seed=seed)
    print(f"| `{salt}` | `{key}` | `{seed:016x}` | `{h:016x}` | {bucket_of(h)} |")

print("\n| hash | bucket |")
print("| --- | --- |")
first_of_1 = -(-(1 << 64) // 1_000_000)
first_of_last = -(-(999_999 << 64) // 1_000_000)
for h in [0, 1, first_of_1 - 1, first_of_1, (1 << 63) - 1, 1 << 63, first_of_last - 1, first_of_last,
          (1 << 64) - 1]:
    print(f"| `{h:016x}` | {bucket_of(h)} |")

salt, key = "text:ams", "text:/img/00000001.jpg"
seed = xxhash.xxh3_64_intdigest(decode(salt))
h = xxhash.xxh3_64_intdigest(decode(key), seed=seed)
print("\n| step | value |")
print("| --- | --- |")
print(f"| salt | `{salt}` |")
print(f"| key | `{key}` |")
print(f"| seed = XXH3_64bits(salt) | `{seed:016x}` |")
print(f"| hash = XXH3_64bits_withSeed(key, seed) | `{h:016x}` |")
print(f"| hash in decimal | {h} |")
print(f"| hash * 1000000 | {h * 1_000_000} |")
print(f"| bucket = that >> 64 | {bucket_of(h)} |")
print(f"| v2 answers it from a share of | {(bucket_of(h) + 1) / 10_000:.4f}% |")
