"""What stands on a scheme: keys, masks, several rows at once. From ../../catalog.md, ../../wire.md and ../../stack.md, over the records
of dpf/1, which say themselves what is asked for."""

import base64
import hashlib
import math
import struct

from primitives import (
    MASK, Aes128, L, blake3_derive, blake3_keyed, public_words, ristretto_add, ristretto_base, ristretto_decode,
    ristretto_encode, ristretto_from, ristretto_times,
)
from recorded import Table, Vector, demand, table
from schemes import looked_up, xor, ypir_sp_selected

MASK64 = MASK << 32 | MASK


# keyword/1: ../../catalog.md


def mix(x: int) -> int:
    """The finalizer of SplitMix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK64
    return x ^ x >> 31


def keyword(vector: Vector) -> bytes:
    of = Table(vector, vector.text["table"], ("keyword/1",))
    params, key = of.layer(), vector.text["keyword"].encode()
    demand(params["form"] == "text" and "band" not in params, "another form of keys, or sums of rows")
    secret = blake3_derive("sotto 2026 keyword v1", bytes.fromhex(params["seed"]))
    padded = key.ljust(params["key_bytes"], b"\0") + struct.pack("<I", len(key))
    digest = bytearray(blake3_keyed(secret, padded, 16))
    if not any(digest[:8]):
        digest[0] = 1
    tag, [h] = bytes(digest[: params["tag_bytes"]]), struct.unpack("<Q", digest[:8])
    probes, rows, golden = params["probes"], params["rows"], 0x9E3779B97F4A7C15
    words = [mix(h + (4 * params["attempt"] + i + 1) * golden & MASK64) for i in range(probes)]
    if probes == 1:
        cell, places = 64 * rows * words[0] >> 64, []
        for row, cells in enumerate(base64.b64decode(params["cuts"])):
            cell -= cells
            if cell < 0:
                places = [row]
                break
    else:
        places = [i * (rows // probes) + (rows // probes * word >> 64) for i, word in enumerate(words)]
    most = params["values"].get("up-to")
    length_bytes = 0 if most is None else max(1, -(-most.bit_length() // 8))
    slot, found = of.catalog["row_bytes"] // params["slots"], []
    asked = looked_up(of)
    demand(len(asked) == len(places), "another number of queries than rows in which the key may lie")
    for place, (record, data, _) in zip(places, asked):
        demand(record == of.place(len(data), place)[0], "a query for another row than those in which the key may lie")
        row = of.row(data, place)
        for at in range(0, len(row), slot):
            one = row[at : at + slot]
            if one[: len(tag)] == tag:
                rest = one[len(tag) :]
                length = int.from_bytes(rest[:length_bytes], "little") if length_bytes else params["values"]["fixed"]
                demand(not any(rest[length_bytes + length :]), "a value is not filled up with zeros")
                found.append(rest[length_bytes : length_bytes + length])
    demand(len(found) == 1, "the key is not there once")
    return found[0]


# oprf/1: ../../catalog.md, ../../wire.md and RFC 9497, ristretto255-SHA512 in verifiable mode

CONTEXT = b"OPRFV1-\x01-ristretto255-SHA512"


def expand(message: bytes, domain: bytes) -> bytes:
    """64 bytes: expand_message_xmd of RFC 9380 with SHA-512."""
    domain += bytes([len(domain)])
    start = hashlib.sha512(bytes(128) + message + b"\0\x40\0" + domain).digest()
    return hashlib.sha512(start + b"\x01" + domain).digest()


def sized(*parts: bytes) -> bytes:
    return b"".join(struct.pack(">H", len(part)) + part for part in parts)


def to_scalar(message: bytes) -> int:
    return int.from_bytes(expand(message, b"HashToScalar-" + CONTEXT), "little") % L


def is_proved(key: bytes, blinded: bytes, evaluated: bytes, proof: bytes) -> bool:
    """Whether an element was evaluated under the key."""
    seed = hashlib.sha512(sized(key, b"Seed-" + CONTEXT)).digest()
    weight = to_scalar(sized(seed) + struct.pack(">H", 0) + sized(blinded, evaluated) + b"Composite")
    c, s = (int.from_bytes(half, "little") for half in (proof[:32], proof[32:]))
    m, z = (ristretto_times(weight, ristretto_decode(element)) for element in (blinded, evaluated))
    pairs = [(ristretto_base(), ristretto_decode(key)), (m, z)]
    commitments = [ristretto_add(ristretto_times(s, one), ristretto_times(c, other)) for one, other in pairs]
    parts = [key, *(ristretto_encode(point) for point in (m, z, *commitments))]
    return c < L and s < L and c == to_scalar(sized(*parts) + b"Challenge")


def symmetric(vector: Vector) -> bytes:
    of = Table(vector, vector.text["table"], ("oprf/1",))
    demand(of.layer()["suite"] == "ristretto255-SHA512", "another suite")
    row_number, name = vector.text["row"], of.catalog["table"].encode()
    [(asked, record, _)] = looked_up(of)
    demand(asked == of.place(len(record))[0], "the query is for another record")
    row = of.row(record)
    version, sealed, tag = row[:8], row[8:-16], row[-16:]
    demand(struct.unpack("<Q", version)[0] <= of.catalog["epoch"], "a version past the catalog's epoch")
    data = b"sotto-oprf-row/1\0" + bytes([len(name)]) + name + struct.pack("<Q", row_number) + version
    blind = int.from_bytes(vector.secrets["blind"], "little") % L
    [(sent, came)] = of.evaluations()
    element = ristretto_from(expand(data, b"HashToGroup-" + CONTEXT))
    demand(sent == ristretto_encode(ristretto_times(blind, element)), "the request is not of this row")
    demand(is_proved(bytes.fromhex(of.layer()["public_key"]), sent, came[:32], came[32:]), "the proof does not hold")
    opened = ristretto_encode(ristretto_times(pow(blind, -1, L), ristretto_decode(came[:32])))
    output = hashlib.sha512(sized(data, opened) + b"Finalize").digest()
    keys = [blake3_derive(f"sotto 2026 oprf mask {what} v1", output) for what in ("tag", "stream")]
    item = xor(sealed, blake3_keyed(keys[1], tag, len(sealed)))
    demand(blake3_keyed(keys[0], version + item, 16) == tag, "the row does not open")
    return item


# pbc/1: ../../stack.md


class Positions:
    """Where the copies of a table's rows lie."""

    def __init__(self, rows: int, seed: bytes):
        root = max(1, math.isqrt(rows))
        sides = range(root, max(-(-root // 2), min(root, 2)) - 1, -1)
        self.a, self.b = min(((a, max(1, -(-rows // a))) for a in sides), key=lambda side: side[0] * side[1])
        words = public_words(seed, "batch code", 0, 1)
        self.aes = Aes128(bytes(next(words) for _ in range(16)))

    def shift(self, copy: int, turn: int, number: int, modulus: int) -> int:
        block = struct.pack("<QQ", number, copy << 32 | turn)
        [word] = struct.unpack("<Q", xor(self.aes.encrypt(block), block)[:8])
        return word * modulus >> 64

    def of(self, copy: int, row: int) -> int:
        left, right = divmod(row, self.b)
        for turn in range(0, 10, 2):
            left = (left + self.shift(copy, turn, right, self.a)) % self.a
            right = (right + self.shift(copy, turn + 1, left, self.b)) % self.b
        return left * self.b + right


def at_once(vector: Vector) -> bytes:
    stack, tables = vector.stack()
    demand([layer["name"] for layer in stack["layers"]] == ["pbc/1"], "other layers")
    params = stack["layers"][0]["params"]
    copies, buckets, spare = params["copies"], params["buckets"], params["spare"]
    demand(len(vector.text["rows"]) <= params["batch"], "more rows than one request may have")
    # Of each bucket, and then of the whole table: its table, the first row there, and what was asked for, whatever the request.
    shards = []
    for of in tables:
        if vector.text["scheme"].startswith("ypir-sp/"):
            found = ypir_sp_selected(of)
            shards += [(of, of.catalog["rows"] // len(found) * bucket, [one]) for bucket, one in enumerate(found)]
        else:
            shards.append((of, 0, [(asked, record) for asked, record, _ in looked_up(of)]))
    demand(len(shards) == copies * buckets + (spare > 0), "another number of buckets")
    for number, (_, _, asked) in enumerate(shards):
        demand(len(asked) == (spare if number == copies * buckets else 1), "another number of queries to a bucket")
    positions = Positions(params["rows"], bytes.fromhex(params["seed"]))
    places = lambda row: [(copies * buckets, row)] * (spare > 0) + [  # noqa: E731
        (copy * buckets + position % buckets, position // buckets)
        for copy, position in enumerate(positions.of(copy, row) for copy in range(copies))
    ]
    out, whole = b"", {**tables[0].catalog, "rows": params["rows"]}
    for row in vector.text["rows"]:
        found = {
            of.row(record, first + place)
            for of, first, answers, place in ((*shards[number], place) for number, place in places(row))
            for asked, record in answers
            if asked == of.place(len(record), first + place)[0]
        }
        # Records have several rows: a query may be for another row of the same record, and brings this one too.
        demand(len(found) == 1, "no bucket of a row was asked for it, or its copies differ")
        [data] = found
        demand(data == table(whole)[row], "a bucket has another row at the place of this one")
        out += data
    return out


LAYERS = {"keyword-1": keyword, "oprf-1": symmetric, "pbc-1": at_once, "pbc-1-ypir-sp": at_once}
