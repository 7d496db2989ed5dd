"""BLAKE3, ChaCha20, AES-128, Ed25519 and ristretto255, straight from their definitions and slow: what the standard library lacks."""

import hashlib
import struct

MASK = 0xFFFFFFFF

# BLAKE3, https://github.com/BLAKE3-team/BLAKE3-specs

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
START, END, PARENT, ROOT, KEYED, CONTEXT, MATERIAL = 1, 2, 4, 8, 16, 32, 64


def _turn(x: int, by: int) -> int:
    return ((x >> by) | (x << (32 - by))) & MASK


def _compress(chain, words, counter: int, length: int, flags: int) -> list[int]:
    v = [*chain, *IV[:4], counter & MASK, counter >> 32, length, flags]
    m = list(words)
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(
            [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
             (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
        ):
            for x, turns in ((m[2 * i], (16, 12)), (m[2 * i + 1], (8, 7))):
                v[a] = (v[a] + v[b] + x) & MASK
                v[d] = _turn(v[d] ^ v[a], turns[0])
                v[c] = (v[c] + v[d]) & MASK
                v[b] = _turn(v[b] ^ v[c], turns[1])
        m = [m[i] for i in ORDER]
    return [v[i] ^ v[i + 8] for i in range(8)] + [v[i + 8] ^ chain[i] for i in range(8)]


def _words(block: bytes) -> tuple[int, ...]:
    return struct.unpack("<16I", block.ljust(64, b"\0"))


def _blake3(data: bytes, key, flags: int, length: int) -> bytes:
    """The tree over chunks of 1024 bytes; the last node that is left is the root, which gives as many bytes as are wanted."""

    def chunk(index: int):
        part = data[1024 * index : 1024 * index + 1024]
        blocks = [part[i : i + 64] for i in range(0, len(part), 64)] or [b""]
        chain = key
        for i, block in enumerate(blocks):
            own = flags | (START if i == 0 else 0) | (END if i == len(blocks) - 1 else 0)
            node = (chain, _words(block), index, len(block), own)
            chain = _compress(*node)[:8]
        return node

    def tree(first: int, count: int):
        if count == 1:
            return chunk(first)
        left = 1 << (count - 1).bit_length() - 1
        below = [_compress(*node)[:8] for node in (tree(first, left), tree(first + left, count - left))]
        return (key, below[0] + below[1], 0, 64, flags | PARENT)

    chain, words, _, size, own = tree(0, max(1, -(-len(data) // 1024)))
    root = ((chain, words, i, size, own | ROOT) for i in range(-(-length // 64)))
    return b"".join(struct.pack("<16I", *_compress(*node)) for node in root)[:length]


def blake3(data: bytes, length: int = 32) -> bytes:
    return _blake3(data, IV, 0, length)


def blake3_keyed(key: bytes, data: bytes, length: int = 32) -> bytes:
    return _blake3(data, struct.unpack("<8I", key), KEYED, length)


def blake3_derive(context: str, data: bytes, length: int = 32) -> bytes:
    key = struct.unpack("<8I", _blake3(context.encode(), IV, CONTEXT, 32))
    return _blake3(data, key, MATERIAL, length)


# ChaCha20 with a block counter of 64 bits and a nonce of zeros


def chacha20(key: bytes):
    """The blocks of 64 bytes, without end."""
    counter = 0
    while True:
        start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8I", key)]
        start += [counter & MASK, counter >> 32, 0, 0]
        v = list(start)
        for _ in range(10):
            for a, b, c, d in [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                               (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]:
                for x, y, z, turn in ((a, b, d, 16), (c, d, b, 20), (a, b, d, 24), (c, d, b, 25)):
                    v[x] = (v[x] + v[y]) & MASK
                    v[z] = _turn(v[z] ^ v[x], turn)
        yield struct.pack("<16I", *((x + y) & MASK for x, y in zip(v, start)))
        counter += 1


def public_words(seed: bytes, label: str, index: int, size: int):
    """The words of a public stream, of so many bytes each: spec/cube.md, "Streams, slots, masks"."""
    text = label.encode()
    data = seed + struct.pack("<Q", len(text)) + text + struct.pack("<Q", index)
    for block in chacha20(blake3_derive("sotto 2026 public stream v1", data)):
        for at in range(0, 64, size):
            yield int.from_bytes(block[at : at + size], "little")


# AES-128, FIPS 197


def _double(x: int) -> int:
    return (x << 1) ^ (0x11B if x & 0x80 else 0)


def _boxes() -> bytes:
    box, p, q = bytearray(256), 1, 1
    box[0] = 0x63
    while True:
        p ^= _double(p)
        for shift in (1, 2, 4):
            q ^= q << shift
        q &= 0xFF
        q ^= 0x09 if q & 0x80 else 0
        turned = q
        for shift in (1, 2, 3, 4):
            turned ^= (q << shift | q >> (8 - shift)) & 0xFF
        box[p] = turned ^ 0x63
        if p == 1:
            return bytes(box)


BOX = _boxes()


class Aes128:
    def __init__(self, key: bytes):
        words, constant = [key[i : i + 4] for i in range(0, 16, 4)], 1
        for i in range(4, 44):
            word = words[-1]
            if i % 4 == 0:
                word = bytes(BOX[b] for b in word[1:] + word[:1])
                word = bytes([word[0] ^ constant]) + word[1:]
                constant = _double(constant)
            words.append(bytes(a ^ b for a, b in zip(words[i - 4], word)))
        self.keys = [b"".join(words[i : i + 4]) for i in range(0, 44, 4)]

    def encrypt(self, block: bytes) -> bytes:
        state = bytes(a ^ b for a, b in zip(block, self.keys[0]))
        for turn, key in enumerate(self.keys[1:], 1):
            state = bytes(BOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16))
            if turn < 10:
                mixed = bytearray()
                for column in (state[i : i + 4] for i in range(0, 16, 4)):
                    total = column[0] ^ column[1] ^ column[2] ^ column[3]
                    mixed += bytes(b ^ total ^ _double(b ^ column[(i + 1) % 4]) for i, b in enumerate(column))
                state = bytes(mixed)
            state = bytes(a ^ b for a, b in zip(state, key))
        return state


# Ed25519, RFC 8032

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
BASE_Y = 4 * pow(5, -1, P) % P


def _point(data: bytes):
    """A point in its one form; None for anything else."""
    y, sign = int.from_bytes(data, "little") & (2**255 - 1), data[31] >> 7
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    return (P - x if x & 1 != sign else x, y)


def _add(a, b):
    cross = D * a[0] * b[0] * a[1] * b[1] % P
    x = (a[0] * b[1] + a[1] * b[0]) * pow(1 + cross, -1, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - cross, -1, P)
    return (x % P, y % P)


def _times(n: int, point):
    out = (0, 1)
    while n:
        out = _add(out, point) if n & 1 else out
        point, n = _add(point, point), n >> 1
    return out


def ed25519_verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    """Strictly: no second form of a signature, no key or commitment of small order."""
    public, commitment, s = _point(key), _point(signature[:32]), int.from_bytes(signature[32:], "little")
    if public is None or commitment is None or s >= L:
        return False
    if (0, 1) in (_times(8, public), _times(8, commitment)):
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    base = _point(BASE_Y.to_bytes(32, "little"))
    return _times(s, base) == _add(commitment, _times(challenge, public))


# ristretto255, RFC 9496, on the points of Ed25519

ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)


def _root(u: int, v: int) -> tuple[bool, int]:
    """Whether u / v is a square, and the even root of it, or of the root of -1 times u / v."""
    r = u * v**3 * pow(u * v**7 % P, (P - 5) // 8, P) % P
    check = v * r * r % P
    is_square = check in (u % P, -u % P)
    if check in (-u % P, -u * ROOT_OF_MINUS_ONE % P):
        r = r * ROOT_OF_MINUS_ONE % P
    return is_square, P - r if r & 1 else r


def _even(x: int) -> int:
    return P - x if x & 1 else x


def ristretto_base():
    return _point(BASE_Y.to_bytes(32, "little"))


def ristretto_add(a, b):
    return _add(a, b)


def ristretto_times(n: int, point):
    return _times(n, point)


def ristretto_decode(data: bytes):
    s = int.from_bytes(data, "little")
    u_1, u_2 = (1 - s * s) % P, (1 + s * s) % P
    v = (-D * u_1 * u_1 - u_2 * u_2) % P
    is_square, inverse = _root(1, v * u_2 * u_2 % P)
    x = _even(2 * s * inverse * u_2 % P)
    y = u_1 * inverse * inverse * u_2 * v % P
    if s >= P or s & 1 or not is_square or x * y % P & 1 or y == 0:
        raise ValueError("no element of the group in its one form")
    return (x, y)


def ristretto_encode(point) -> bytes:
    x, y = point
    u_1, u_2 = (1 + y) * (1 - y) % P, x * y % P
    _, inverse = _root(1, u_1 * u_2 * u_2 % P)
    d_1, d_2 = inverse * u_1 % P, inverse * u_2 % P
    z_inverse = d_1 * d_2 * u_2 % P
    if u_2 * z_inverse % P & 1:
        _, inverse_sqrt = _root(1, (-1 - D) % P)
        x, y, d_2 = y * ROOT_OF_MINUS_ONE % P, x * ROOT_OF_MINUS_ONE % P, d_1 * inverse_sqrt % P
    y = -y % P if x * z_inverse % P & 1 else y
    return _even(d_2 * (1 - y) % P).to_bytes(32, "little")


def _map(data: bytes):
    t = int.from_bytes(data, "little") & (2**255 - 1)
    r = ROOT_OF_MINUS_ONE * t * t % P
    u, v, c = (r + 1) * (1 - D * D) % P, (-1 - r * D) * (r + D) % P, P - 1
    is_square, s = _root(u, v)
    if not is_square:
        s, c = -_even(s * t % P) % P, r
    n = (c * (r - 1) * (D - 1) * (D - 1) - v) % P
    # The standard's root of -D - 1 is the odd one.
    root = P - _root((-D - 1) % P, 1)[1]
    w_0, w_1, w_2, w_3 = 2 * s * v % P, n * root % P, (1 - s * s) % P, (1 + s * s) % P
    return (w_0 * pow(w_1, -1, P) % P, w_2 * pow(w_3, -1, P) % P)


def ristretto_from(data: bytes):
    """An element of 64 uniform bytes."""
    return _add(_map(data[:32]), _map(data[32:]))
