#!/usr/bin/env python3
"""Checks a loopexec proof without loopexec.

    verify_proof.py PROOF.json [KEY.pub]

Needs the PyPI package `blake3`. With KEY.pub, the checkpoint that signs the root is checked as well,
which needs `cryptography`. Prints one line and exits 0 when the proof holds, 1 when it does not.

What is proven: the event, byte for byte as it stands in PROOF.json, is number `seq` in a journal whose
first `size` events have the Merkle root `root`. Only the signature says who vouches for that root
and for that size: one path can fit trees of neighbouring sizes.
The digest of the binary payload is taken as recorded; the JSON digest beside it is computed here.
"""
import base64
import json
import sys

from blake3 import blake3


def h(use, data):
    return blake3(data, derive_key_context="loopexec journal/1 " + use).digest()


def need(condition, otherwise):
    if not condition:
        raise ValueError(otherwise)


def node(left, right):
    return h("tree", b"\x01" + left + right)


def raw_event(text):
    """The bytes of the member `event`, as they stand: parsing them anew could respell them."""
    start = text.index('"event":') + len('"event":')
    return text[start:json.JSONDecoder().raw_decode(text, start)[1]].encode()


def leaf(proof, text):
    le = lambda value, size: value.to_bytes(size, "little")
    return h("tree", b"\x00" + bytes.fromhex(proof["previous"]) + le(proof["seq"], 8) + le(proof["kind"], 2)
             + le(proof["v"], 2) + le(proof["flags"], 4) + bytes.fromhex(proof["payload"]) + h("json", raw_event(text)))


def climb(digest, index, size, path):
    """RFC 9162, section 2.1.3.2."""
    last = size - 1
    need(index <= last, "the event is not among those under the root")
    for sibling in path:
        need(last > 0, "the path is too long")
        if index % 2 or index == last:
            digest = node(sibling, digest)
            while index % 2 == 0 and index:
                index, last = index // 2, last // 2
        else:
            digest = node(digest, sibling)
        index, last = index // 2, last // 2
    need(last == 0, "the path is too short")
    return digest


def check_signature(proof, key_text):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    public = base64.b64decode(key_text.split()[1], validate=True)
    body, signature = proof["checkpoint"].split("\n\n")
    signed = base64.b64decode(signature.removeprefix("— loopexec ").strip(), validate=True)
    need(signed[:4] == h("key id", public)[:4], "the checkpoint is signed by another key")
    Ed25519PublicKey.from_public_bytes(public).verify(signed[4:], (body + "\n").encode())
    title, _, size, root = body.split("\n")[:4]
    said = (title, int(size), base64.b64decode(root).hex())
    need(said == ("loopexec-checkpoint/v1", proof["size"], proof["root"]), "it signs another root")


def main(arguments):
    text = open(arguments[0], encoding="utf-8", newline="").read()
    proof = json.loads(text)
    need(json.loads(raw_event(text)) == proof["event"], "there are two events")
    need(proof["format"] == "loopexec-proof/v1", "unknown format")
    path = [base64.b64decode(step, validate=True) for step in proof["path"]]
    root = climb(leaf(proof, text), proof["seq"], proof["size"], path)
    need(root.hex() == proof["root"], "the path does not lead from the event to the root")
    if len(arguments) > 1:
        check_signature(proof, open(arguments[1], encoding="utf-8").read())
    print(f"event {proof['seq']} of {proof['size']} is proven under root {proof['root']}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Exception as error:  # whatever is wrong with the file, it is not a proof
        sys.exit(f"not proven: {type(error).__name__}: {error}")
