"""verify_proof.py PROOF.json [KEY.pub]: checks a loopexec proof with Python and the two files beside this one.

Proven: the event, byte for byte as it stands in PROOF.json, is number `seq` in a journal whose first `size` events
have the Merkle root that is printed; or, of an extension, the events under the older root are the first of those under
the newer one. Only a signature says who vouches for it; KEY.pub checks it. No proof: exit 1."""
import sys
from base64 import b64decode
from functools import partial
from json import JSONDecoder, loads

from blake3 import derived
from ed25519 import signs

raw = partial(b64decode, validate=True)


def need(condition, otherwise):
    if not condition:
        sys.exit(f"not proven: {otherwise}")


def h(use, data):
    return derived(f"loopexec journal/1 {use}", data)


def leaf(proof, event):
    before, payload = raw(proof["previous"]), raw(proof["payload"])
    need(len(before) == len(payload) == 32, "a digest has another length")
    numbers = [proof[key].to_bytes(size, "little") for key, size in (("seq", 8), ("kind", 2), ("v", 2), ("flags", 4))]
    return h("tree", b"".join([b"\0", before, *numbers, payload, h("json", event)]))


def root_over(digest, index, size, path):
    """The root of a tree (RFC 6962) of `size` leaves in which `digest` is number `index`."""
    need(index < size and (len(path) > 0) == (size > 1), "the path does not fit the place of the event")
    if size == 1:
        return digest
    half = 1 << (size - 1).bit_length() - 1
    if index < half:
        return h("tree", b"\1" + root_over(digest, index, half, path[:-32]) + path[-32:])
    return h("tree", b"\1" + path[-32:] + root_over(digest, index - half, size - half, path[:-32]))


def roots_over(first, size, known, path):
    """The older and the newer root (RFC 6962) of a tree that grew from `first` to `size` leaves."""
    if first == size:
        need(len(path) == (0 if known else 32), "the path does not fit the sizes")
        return known or path, known or path
    need(0 < first < size and len(path) >= 32, "the path does not fit the sizes")
    half, beside = 1 << (size - 1).bit_length() - 1, path[-32:]
    if first <= half:
        old, new = roots_over(first, half, known, path[:-32])
        return old, h("tree", b"\1" + new + beside)
    old, new = roots_over(first - half, size - half, None, path[:-32])
    return h("tree", b"\1" + beside + old), h("tree", b"\1" + beside + new)


def check_signature(body, signature, public):
    signed = raw(signature.split()[-1])
    need(signed[:4] == h("key id", public)[:4], "another key signed it")
    need(body.startswith("loopexec-checkpoint/v1\n") and signs(public, signed[4:], f"{body}\n".encode()), "a forgery")


if __name__ == "__main__":
    text = open(sys.argv[1], encoding="utf-8", newline="").read()
    proof = loads(text)
    body, _, signature = proof.get("checkpoint", "").partition("\n\n")
    size, root = body.split("\n")[2:4] if body else (proof["unsigned"]["size"], proof["unsigned"]["root"])
    size, path = int(size), raw(proof["path"])
    if proof["format"] == "loopexec-extension/v1":
        known = raw(proof["from"]["root"])
        need(len(known) == 32, "a digest has another length")
        need(roots_over(proof["from"]["size"], size, known, path) == (known, raw(root)), "the roots are others")
        told = f"{size} events extend the first {proof['from']['size']} under root {known.hex()}: it"
    else:
        start = text.index('"event":') + len('"event":')
        event, end = JSONDecoder().raw_decode(text, start)
        need(event == proof["event"] and proof["format"] == "loopexec-proof/v1", "the format is unknown")
        found = root_over(leaf(proof, text[start:end].encode()), proof["seq"], size, path)
        need(found == raw(root), "the path does not lead from the event to the root")
        told = f"event {proof['seq']} of {size}"
    for key in sys.argv[2:]:
        check_signature(body, signature, raw(open(key, encoding="utf-8").read().split()[1]))
    print(f"{told} is proven under root {raw(root).hex()}")
