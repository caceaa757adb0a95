#!/usr/bin/env python3
"""verify_proof.py PROOF.json [KEY.pub]: checks a loopexec proof with Python and the two files beside this one.

Proven: the event, byte for byte as it stands in PROOF.json, is number `seq` in a journal whose first `size` events
have the Merkle root `root`. Who vouches for that root only its signature says; KEY.pub checks it. No proof: exit 1."""
import sys
from base64 import b64decode
from json import JSONDecoder, loads

from blake3 import derived
from ed25519 import signs


def need(condition, otherwise):
    if not condition:
        sys.exit(f"not proven: {otherwise}")


def h(use, data):
    return derived(f"loopexec journal/1 {use}", data)


def leaf(proof, event):
    before, payload = bytes.fromhex(proof["previous"]), bytes.fromhex(proof["payload"])
    numbers = [proof[key].to_bytes(size, "little") for key, size in (("seq", 8), ("kind", 2), ("v", 2), ("flags", 4))]
    return h("tree", b"".join([b"\0", before, *numbers, payload, h("json", event)]))


def root_over(digest, index, size, path):
    """The root of a tree (RFC 6962) of `size` leaves in which `digest` is number `index`."""
    need(index < size and (len(path) > 0) == (size > 1), "the path does not fit the place of the event")
    if size == 1:
        return digest
    half = 1 << (size - 1).bit_length() - 1
    if index < half:
        return h("tree", b"\1" + root_over(digest, index, half, path[:-1]) + path[-1])
    return h("tree", b"\1" + path[-1] + root_over(digest, index - half, size - half, path[:-1]))


def check_signature(proof, public):
    body, signature = proof["checkpoint"].split("\n\n")
    signed = b64decode(signature.split()[-1], validate=True)
    need(signed[:4] == h("key id", public)[:4], "another key signed it")
    need(signs(public, signed[4:], f"{body}\n".encode()), "the signature is wrong")
    title, _, size, root = body.split("\n")[:4]
    said = (title, int(size), b64decode(root).hex())
    need(said == ("loopexec-checkpoint/v1", proof["size"], proof["root"]), "it signs another root")


if __name__ == "__main__":
    text = open(sys.argv[1], encoding="utf-8", newline="").read()
    proof, start = loads(text), text.index('"event":') + len('"event":')
    event, end = JSONDecoder().raw_decode(text, start)
    need(event == proof["event"] and proof["format"] == "loopexec-proof/v1", "the format is unknown")
    steps = [b64decode(step, validate=True) for step in proof["path"]]
    root = root_over(leaf(proof, text[start:end].encode()), proof["seq"], proof["size"], steps)
    need(root.hex() == proof["root"], "the path does not lead from the event to the root")
    for key in sys.argv[2:]:
        check_signature(proof, b64decode(open(key, encoding="utf-8").read().split()[1], validate=True))
    print(f"event {proof['seq']} of {proof['size']} is proven under root {root.hex()}")
