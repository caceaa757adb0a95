"""Ed25519 signatures (RFC 8032), checked with nothing but the standard library. Not for signing: it hides no secret."""
from hashlib import sha512

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def added(one, other):
    (x1, y1), (x2, y2) = one, other
    t = D * x1 * x2 * y1 * y2
    return (x1 * y2 + x2 * y1) * pow(1 + t, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - t, -1, P) % P


def times(factor, point):
    total = (0, 1)
    while factor:
        if factor % 2:
            total = added(total, point)
        point, factor = added(point, point), factor // 2
    return total


def point(encoded):
    """The point of the curve; ValueError when there is none."""
    odd, y = divmod(int.from_bytes(encoded, "little"), 2**255)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or y >= P or odd > x:
        raise ValueError("not a point of the curve")
    return (x if x % 2 == odd else P - x), y


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def signs(public, signature, message):
    s = int.from_bytes(signature[32:], "little")
    if len(public) != 32 or len(signature) != 64 or s >= ORDER:
        return False
    challenge = int.from_bytes(sha512(signature[:32] + public + message).digest(), "little")
    return times(s, BASE) == added(point(signature[:32]), times(challenge % ORDER, point(public)))
