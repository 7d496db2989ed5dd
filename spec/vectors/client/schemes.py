"""The client's half of some schemes, from their pages: the record that was asked for, and whether the query asks for it."""

import struct

from primitives import Aes128, blake3_derive, public_words
from recorded import Table, demand, table


def xor(*parts: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(*parts)) if len(parts) == 2 else xor(parts[0], xor(*parts[1:]))


def bits(data: bytes, width: int, count: int) -> list[int]:
    """Words without gaps, the least significant bit first; what fills the last byte up is zero."""
    whole = int.from_bytes(data, "little")
    demand(len(data) == -(-width * count // 8) and whole >> (width * count) == 0, "words of another size")
    return [whole >> (width * i) & ((1 << width) - 1) for i in range(count)]


def product(a: list[int], b: list[int], q: int) -> list[int]:
    """a b modulo X^n + 1 and q, by way of two large integers."""
    n, size = len(a), 16
    whole = [int.from_bytes(b"".join((x % q).to_bytes(size, "little") for x in p), "little") for p in (a, b)]
    data = (whole[0] * whole[1]).to_bytes(2 * n * size, "little")
    out = [int.from_bytes(data[size * i : size * (i + 1)], "little") for i in range(2 * n)]
    return [(out[i] - out[i + n]) % q for i in range(n)]


def numbers(data: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(data) // 2}h", data))


# dpf/1 and dpf/2: ../../dpf.md


def depth(records: int) -> int:
    return next(n for n in range(64) if 512 << n >= records)


def selected(key: bytes, records: int) -> list[int]:
    """What a key says of each record: 0 or 1."""
    levels = depth(records)
    names = blake3_derive("sotto 2026 dpf/1 tree keys v1", key[:16], 64)
    left, right, control, leaf = (Aes128(names[i : i + 16]) for i in range(0, 64, 16))

    def h(cipher: Aes128, x: bytes) -> bytes:
        return xor(cipher.encrypt(x), x)

    words = [key[32 + 16 * i : 48 + 16 * i] for i in range(levels)]
    last = key[32 + 16 * levels : 96 + 16 * levels]
    corrections = bits(key[96 + 16 * levels :], 1, 1 + 2 * levels)
    nodes = [(key[16:32], corrections[0])]
    for level in range(levels):
        below = []
        for seed, t in nodes:
            own = h(control, seed)[0]
            for side, cipher in enumerate((left, right)):
                child = h(cipher, seed)
                child = xor(child, words[level]) if t else child
                below.append((child, own >> side & 1 ^ t & corrections[1 + 2 * level + side]))
        nodes = below
    out = []
    for seed, t in nodes:
        data = b"".join(h(leaf, bytes([seed[0] ^ j]) + seed[1:]) for j in range(4))
        out += bits(xor(data, last) if t else data, 1, 512)
    return out[:records]


def looked_up(of: Table) -> list[tuple[int, bytes, list]]:
    """Of each query to both servers: the record that it asks for, that record, and each server's selection and answer."""
    params, asks = of.params("records", "record_bytes", "path"), of.asks()
    first, bytes_of_record = 96 + 16 * depth(params["records"]), params["record_bytes"]
    size = first + -(-(1 + 2 * depth(params["records"])) // 8)
    out = []
    for at in range(len(asks[0][0]) // size):
        pairs = [(q[size * at :][:size], a[bytes_of_record * at :][:bytes_of_record]) for q, a in asks]
        shared = {(key[:16], key[32:first], key[first] >> 1, key[first + 1 :]) for key, _ in pairs}
        demand(len(shared) == 1, "the two keys do not belong together")
        chosen = [selected(query, params["records"]) for query, _ in pairs]
        differ = [i for i, (a, b) in enumerate(zip(*chosen)) if a != b]
        demand(len(differ) == 1, "the two keys do not differ in one record")
        out.append((differ[0], xor(pairs[0][1], pairs[1][1]), list(zip(chosen, (answer for _, answer in pairs)))))
    return out


def dpf(vector: Table) -> bytes:
    [(asked, record, halves)] = looked_up(vector)
    demand(asked == vector.place(len(record))[0], "the two keys do not differ in the record that is asked for")
    if "path" not in vector.catalog["rows_root"] and vector.catalog["layers"] == []:
        rows, fit = table(vector.catalog), len(record) // vector.catalog["row_bytes"]
        records = [b"".join(rows[i : i + fit]).ljust(len(record), b"\0") for i in range(0, len(rows), fit)]
        for ones, answer in halves:
            demand(answer == xor(bytes(len(answer)), *(r for r, one in zip(records, ones) if one)), "a wrong answer")
    return record


# simplepir/1: ../../simplepir.md


def simplepir(vector: Table) -> bytes:
    params = vector.params("set", "record_bytes", "records", "query_bits", "answer_bits", "seed")
    [(query, answer)], n, q = vector.asks(), 1024, 4294957057
    demand(params["set"] == "n1024-q32-s11", "another set")
    l, m, b, t = params["record_bytes"], params["records"], params["query_bits"], params["answer_bits"]
    secret, step = numbers(vector.secrets["s"]), (q + 128) // 256
    wanted, _ = vector.place(l)
    masks = []
    for k in range(-(-m // n)):
        stream = public_words(bytes.fromhex(params["seed"]), "simplepir/1 matrix", k, 4)
        masks += product([next(word for word in stream if word < q) for _ in range(n)], secret, q)
    for i, (word, mask) in enumerate(zip(bits(query, b, m), masks)):
        error = (word * q / 2**b - mask - (step if i == wanted else 0)) % q
        demand(min(error, q - error) < 8 * 11 + q / 2**b, "the query does not ask for the record")
    rows = struct.unpack(f"<{l * n}I", vector.artifact("hint"))
    demand(max(rows) < q, "a word of the hint is not below Q")
    record = bytearray()
    for r, word in enumerate(bits(answer, t, l)):
        mask = sum(h * x for h, x in zip(rows[r * n : (r + 1) * n], secret)) % q
        record.append(round((word / 2**t - mask / q) * 256) % 256)
    return bytes(record)


# ypir-sp/2: ../../ypir-sp.md, and ../../cube.md for streams and slots


def reversed_bits(x: int, bits: int) -> int:
    return int(f"{x:0{bits}b}"[::-1], 2)


def coefficients(slots: list[int], q: int) -> list[int]:
    """The polynomial with these values, by the order of slots in cube.md."""
    n, log = len(slots), len(slots).bit_length() - 1
    roots = (pow(g, (q - 1) // (2 * n), q) for g in range(2, q))
    psi = next(root for root in roots if pow(root, n, q) == q - 1)
    # Value number e is that at psi^(2 e + 1).
    values = [0] * n
    for place, value in enumerate(slots):
        b, i, j = place // 64, place // 8 % 8, place % 8
        values[reversed_bits(64 * b + 8 * j + i, log)] = value
    back = pow(psi, -1, q)

    def sums(values: list[int], root: int) -> list[int]:
        """For each i, the sum over e of values[e] root^(i e)."""
        if len(values) == 1:
            return values
        even, odd = (sums(values[side::2], root * root % q) for side in (0, 1))
        out, power, half = [0] * len(values), 1, len(even)
        for i in range(half):
            turned = odd[i] * power % q
            out[i], out[i + half], power = (even[i] + turned) % q, (even[i] - turned) % q, power * root % q
        return out

    share = pow(n, -1, q)
    return [x * share * pow(back, i, q) % q for i, x in enumerate(sums(values, back * back % q))]


def ypir_sp_selected(of: Table) -> list[tuple[int | None, bytes]]:
    """Of each bucket: the record that the query asks for, by its number in the table, and that record."""
    fields = ["set", "record_bytes", "records", "buckets", "samples", "block", "scales", "number_bits"]
    params, [(query, answer)] = of.params(*fields, "query_bits", "key_bits", "answer_bits", "seed"), of.asks()
    d, q, each = 2048, 1125899904679937, params.get("block", 2048)
    l, g, b, buckets = params["record_bytes"], params["samples"], params["query_bits"], params.get("buckets", 1)
    demand(buckets > 1 or "buckets" not in params, "one bucket has another text")
    width = params.get("number_bits", 8)
    m, groups, (high, low) = params["records"] // buckets, -(-(l * 8 // width) // g), params["answer_bits"]
    secret, masks = numbers(of.secrets["s"]), of.artifact("hint")
    demand(len(secret) == d and set(secret) <= {-1, 0, 1}, "a secret of another kind")
    demand(m * buckets == params["records"], "buckets of other sizes")
    demand(len(masks) == buckets * groups * d * high // 8, "another size of masks")
    demand(len(answer) == buckets * groups * g * low // 8, "another size of the answer")
    # A column has records at several scales. Of a short block only the first coefficients select a record.
    scales, step = params.get("scales", (1, 0))
    n = -(-m // scales) if each == d else -(-m // each) * d
    demand(scales == 1 or (each == d and buckets == 1), "scales in another table")
    demand(each == d or (buckets == 1 and g == d), "short blocks in another table")
    held = 2 if each == d == g else 0 if each == 1 else 1
    vector, keys = -(-n * b // 8), held * d * params["key_bits"] // 8
    demand(query is None or len(query) == buckets * vector + keys, "keys that are not sent once")
    dropped, out = 1 << (50 - b), []
    units = [2 ** (width + step * scale) for scale in range(scales)]
    ones = [(q + unit // 2) // unit for unit in units]
    for bucket in range(buckets):
        words, asked = None if query is None else bits(query[vector * bucket :][:vector], b, n), []
        for k in range(-(-n // d) if words else 0):
            number = bucket * -(-n // d) + k
            stream = (word & (1 << 50) - 1 for word in public_words(bytes.fromhex(params["seed"]), "silent query", number, 8))
            block = coefficients([next(word for word in stream if word < q) for _ in range(d)], q)
            for i, mask in enumerate(product(block, secret, q)[: n - k * d]):
                error = (words[k * d + i] * dropped - mask) % q
                is_small = [min(x % q, -x % q) <= 10 * 3.2 + dropped for x in (error - one for one in [0, *ones])]
                demand(sum(is_small) == 1, "a word that is neither zero nor one")
                demand(i < each or is_small[0], "a one where a short block selects no record")
                asked += [bucket * m + (k * each + i) * scales + scale for scale in range(scales) if is_small[1 + scale]]
        demand(words is None or len(asked) == 1, "the query does not ask for a record of each bucket")
        record = b""
        for group in range(bucket * groups, bucket * groups + groups):
            mask = bits(masks[d * high // 8 * group :][: d * high // 8], high, d)
            body = bits(answer[g * low // 8 * group :][: g * low // 8], low, g)
            # Masks and bodies are parts of q: x q / 2^high and y q / 2^low.
            hidden = product(mask, secret, 1 << high)
            signed = [round((y / 2**low - x / 2**high) * 2**width) for x, y in zip(hidden, body)]
            if width == 4:
                # The low number of a byte is from -8 to 7.
                signed = [(x + 8) % 16 - 8 + 16 * y for x, y in zip(signed[::2], signed[1::2])]
            record += bytes((x if i < each else -x) % 2**8 for i, x in enumerate(signed))
        out.append((asked[0] if asked else None, record[:l]))
    return out


def ypir_sp(vector: Table) -> bytes:
    [(asked, record)] = ypir_sp_selected(vector)
    demand(asked in (None, vector.place(len(record))[0]), "the query does not ask for the record")
    return record


# checklist/1: ../../checklist.md


class Sets:
    """Trees of the table's parameters, and the sets of places that they mean."""

    def __init__(self, rows: int):
        bits = max(2, (rows - 1).bit_length())
        self.places, self.members = 1 << bits, 1 << -(-bits // 2)
        self.leaf = min(16, self.members)
        depth = (self.members // self.leaf).bit_length() - 1
        # How many children nodes have, from the root down.
        self.children = [2] * (depth % 2) + [4] * (depth // 2)

    def blocks(self, salt: Aes128, seed: bytes) -> list[bytes]:
        inputs = [bytes([seed[0] ^ j]) + seed[1:] for j in range(4)]
        return [xor(salt.encrypt(x), x) for x in inputs]

    def grow(self, salt: Aes128, seed: bytes, children: list[int]) -> list[int]:
        """The numbers below a node whose descendants have so many children."""
        blocks = self.blocks(salt, seed)
        if not children:
            return [x % self.places for x in struct.unpack("<16I", b"".join(blocks))[: self.leaf]]
        return [x for block in blocks[: children[0]] for x in self.grow(salt, block, children[1:])]

    def of(self, hint: bytes) -> list[int]:
        """The places of a hint's set."""
        [shift] = struct.unpack("<I", hint[32:36])
        return [x ^ shift for x in self.grow(Aes128(hint[:16]), hint[16:32], self.children)]

    def punctured(self, request: bytes) -> tuple[list[int], int]:
        """The places of a request, and its extra one."""
        shift, position, extra = struct.unpack("<IHI", request[:10])
        demand(max(shift, extra) < self.places and position < self.members, "a request out of bounds")
        found = list(struct.unpack(f"<{self.leaf - 1}I", request[10 : 6 + 4 * self.leaf]))
        demand(max(found, default=0) < self.places, "a number out of bounds")
        rest = request[6 + 4 * self.leaf :]
        salt, seeds = Aes128(rest[:16]), [rest[i : i + 16] for i in range(16, len(rest), 16)]
        for level, count in enumerate(self.children):
            beside, seeds = seeds[: count - 1], seeds[count - 1 :]
            found += [x for seed in beside for x in self.grow(salt, seed, self.children[level + 1 :])]
        demand(not seeds and len(found) == self.members - 1, "a request of another size")
        return [x ^ shift for x in found], extra


def checklist(vector: Table) -> bytes:
    params, asks, state = vector.params("rows", "row_bytes", "hints", "queries"), vector.asks(), vector.secrets["state"]
    width, hints, sets = params["row_bytes"], params["hints"], Sets(params["rows"])
    rows = [*table(vector.catalog), *[bytes(width)] * (sets.places - params["rows"])]
    wanted, _ = vector.place(width)
    places = [sets.punctured(request) for request, _ in asks]
    for (members, extra), (_, answer) in zip(places, asks):
        demand(extra not in members and len(set(members)) == len(members), "places that repeat")
        demand(answer == xor(*(rows[i] for i in members)) + rows[extra], "a wrong answer")
    # 44 bytes before the hints; the last of them count the queries that are open, which come last.
    demand(struct.unpack("<I", state[40:44]) == (1,), "there is one open query")
    number, form, slot, spent = struct.unpack("<QBI45s", state[-width - 58 : -width])
    parity = state[-width:]
    demand(number == 1 and len(state) == 44 + (hints + 1) * (45 + width) + 13, "a state of another size")
    (first, extra_0), (second, extra_1) = ((answer[:width], answer[width:]) for _, answer in asks)
    if form:
        demand(slot == hints, "a hint was spent though none had to be")
        return xor(first, second, extra_0 if form == 1 else extra_1)
    members = sets.of(spent)
    demand(parity == xor(*(rows[i] for i in members)), "the parity of the spent hint is another")
    demand(set(members) - set(places[0][0]) == {wanted}, "the hint is not sent without the row")
    return xor(parity, first)


SCHEMES = {
    "checklist/1": checklist,
    "dpf/1": dpf,
    "dpf/2": dpf,
    "simplepir/1": simplepir,
    "ypir-sp/2": ypir_sp,
}
