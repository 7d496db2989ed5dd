"""Verification of ML-DSA-44 signatures, FIPS 204, with its names and the numbers of its algorithms."""

import hashlib

Q, D = 8380417, 13
K = L = 4
TAU, GAMMA_1, GAMMA_2, BETA, OMEGA = 39, 1 << 17, (8380417 - 1) // 88, 78, 80


def _shake256(data: bytes, length: int) -> bytes:
    return hashlib.shake_256(data).digest(length)


def _numbers(data: bytes, bits: int) -> list[int]:
    """Algorithms 18 and 19 without the offset: 256 numbers of so many bits, the lowest first."""
    all_bits = int.from_bytes(data, "little")
    return [all_bits >> bits * i & (1 << bits) - 1 for i in range(256)]


ZETAS = [pow(1753, int(f"{k:08b}"[::-1], 2), Q) for k in range(256)]


def _ntt(w: list[int]) -> list[int]:
    """Algorithm 41."""
    w, m, length = list(w), 0, 128
    while length:
        for start in range(0, 256, 2 * length):
            m += 1
            for j in range(start, start + length):
                t = ZETAS[m] * w[j + length] % Q
                w[j], w[j + length] = (w[j] + t) % Q, (w[j] - t) % Q
        length //= 2
    return w


def _inverse_ntt(w: list[int]) -> list[int]:
    """Algorithm 42."""
    w, m, length = list(w), 256, 1
    while length < 256:
        for start in range(0, 256, 2 * length):
            m -= 1
            for j in range(start, start + length):
                w[j], w[j + length] = (w[j] + w[j + length]) % Q, -ZETAS[m] * (w[j] - w[j + length]) % Q
        length *= 2
    return [x * 8347681 % Q for x in w]


def _matrix_entry(rho: bytes, row: int, column: int) -> list[int]:
    """Algorithms 30 and 32: uniform numbers below q."""
    stream = hashlib.shake_128(rho + bytes([column, row])).digest(3 * 512)
    found = [int.from_bytes(stream[i : i + 3], "little") & 0x7FFFFF for i in range(0, len(stream), 3)]
    return [x for x in found if x < Q][:256]


def _challenge(seed: bytes) -> list[int]:
    """Algorithm 29: a polynomial with tau coefficients 1 and -1."""
    c, stream = [0] * 256, iter(_shake256(seed, 1024))
    signs = int.from_bytes(bytes(next(stream) for _ in range(8)), "little")
    for i in range(256 - TAU, 256):
        j = next(j for j in stream if j <= i)
        c[i], c[j] = c[j], -1 if signs >> (i + TAU - 256) & 1 else 1
    return c


def _hints(y: bytes):
    """Algorithm 21; None for what is malformed."""
    h, index = [[0] * 256 for _ in range(K)], 0
    for i, end in enumerate(y[OMEGA:]):
        if not index <= end <= OMEGA:
            return None
        places = y[index:end]
        if any(a >= b for a, b in zip(places, places[1:])):
            return None
        for place in places:
            h[i][place] = 1
        index = end
    return None if any(y[index:OMEGA]) else h


def _use_hint(hint: int, r: int) -> int:
    """Algorithms 36 and 40."""
    r_0 = (r + GAMMA_2 - 1) % (2 * GAMMA_2) - (GAMMA_2 - 1)
    r_1, r_0 = (0, r_0 - 1) if r - r_0 == Q - 1 else ((r - r_0) // (2 * GAMMA_2), r_0)
    return (r_1 + (hint and (1 if r_0 > 0 else -1))) % 44


def ml_dsa_44_verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    """Algorithms 3 and 8, with an empty context."""
    if len(key) != 1312 or len(signature) != 2420:
        return False
    rho, t_1 = key[:32], [_numbers(key[32 + 320 * i :][:320], 10) for i in range(K)]
    seed, h = signature[:32], _hints(signature[2336:])
    z = [[GAMMA_1 - x for x in _numbers(signature[32 + 576 * i :][:576], 18)] for i in range(L)]
    if h is None or max(abs(x) for row in z for x in row) >= GAMMA_1 - BETA:
        return False
    mu = _shake256(_shake256(key, 64) + b"\0\0" + message, 64)
    c, z = _ntt(_challenge(seed)), [_ntt(row) for row in z]
    w_1 = 0
    for i in range(K):
        t = _ntt([x << D for x in t_1[i]])
        sums = [-a * b for a, b in zip(c, t)]
        for j in range(L):
            sums = [x + a * b for x, a, b in zip(sums, _matrix_entry(rho, i, j), z[j])]
        for j, (hint, r) in enumerate(zip(h[i], _inverse_ntt([x % Q for x in sums]))):
            w_1 |= _use_hint(hint, r) << 6 * (256 * i + j)
    return seed == _shake256(mu + w_1.to_bytes(768, "little"), 32)
