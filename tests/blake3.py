"""BLAKE3 with nothing but the standard library: 32 bytes for input of any length. Written to be read, not to be fast."""
import struct

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
NEXT_ROUND = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
CHUNK_START, CHUNK_END, PARENT, ROOT, CONTEXT, KEY_MATERIAL = 1, 2, 4, 8, 32, 64
CHUNK, BLOCK = 1024, 64


def turned(word, bits):
    return (word >> bits | word << (32 - bits)) & 0xFFFFFFFF


def compressed(chaining, block, counter, flags):
    words = struct.unpack("<16I", block.ljust(BLOCK, b"\0"))
    v = [*chaining, *IV[:4], counter & 0xFFFFFFFF, counter >> 32, len(block), flags]
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(COLUMNS + DIAGONALS):
            for word, (first, second) in ((words[2 * i], (16, 12)), (words[2 * i + 1], (8, 7))):
                v[a] = (v[a] + v[b] + word) & 0xFFFFFFFF
                v[d] = turned(v[d] ^ v[a], first)
                v[c] = (v[c] + v[d]) & 0xFFFFFFFF
                v[b] = turned(v[b] ^ v[c], second)
        words = [words[i] for i in NEXT_ROUND]
    return [v[i] ^ v[i + 8] for i in range(8)]


def subtree(data, key, counter, flags, root):
    if len(data) <= CHUNK:
        chaining = key
        last = max(len(data) - 1, 0) // BLOCK * BLOCK
        for at in range(0, last + 1, BLOCK):
            edge = (CHUNK_START if at == 0 else 0) | (CHUNK_END | root if at == last else 0)
            chaining = compressed(chaining, data[at:at + BLOCK], counter, flags | edge)
        return chaining
    half = 1 << (len(data) - 1).bit_length() - 1  # the largest power of two that leaves something for the right
    left = subtree(data[:half], key, counter, flags, 0)
    right = subtree(data[half:], key, counter + half // CHUNK, flags, 0)
    return compressed(key, struct.pack("<16I", *left, *right), 0, flags | PARENT | root)


def derived(context, data):
    """The derive-key mode; its output for this context and data."""
    key = subtree(context.encode(), IV, 0, CONTEXT, ROOT)
    return struct.pack("<8I", *subtree(data, key, 0, KEY_MATERIAL, ROOT))


def digest(data):
    return struct.pack("<8I", *subtree(data, IV, 0, 0, ROOT))
