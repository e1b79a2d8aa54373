#!/usr/bin/env python3
"""Verifies signed statements of charges with nothing but Python and openssl.

  curl https://data.example/.well-known/jwks.json > jwks.json
  python3 verify-statement.py jwks.json november.json november.csv
"""

import base64
import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile


def unbase64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def once(members):
    if len(dict(members)) < len(members):
        raise ValueError("a member is there twice")
    return dict(members)


def read(data):
    """What is signed, the signature, the balances and the amounts."""
    if data.lstrip().startswith(b"{"):
        whole = json.loads(data, object_pairs_hook=once)
        said = whole["statement"]
        # RFC 8785: every number of a statement is an integer, every name is ASCII.
        signed = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        balances = said["openingBalanceMicroUsd"], said["closingBalanceMicroUsd"]
        amounts = [each["amountMicroUsd"] for each in said["movements"]]
        return signed.encode(), whole["signature"], balances, amounts
    end = data.rindex(b"\r\nsignature,") + 2
    signed = data[:end]
    last = re.fullmatch(rb"signature,([^,\r\n]+),*\r\n", data[end:])
    if last is None:
        raise ValueError("the last line must be the signature alone")
    rows = list(csv.DictReader(io.StringIO(signed.decode(), newline="")))
    amount = {row["row"]: row["amountMicroUsd"] for row in rows}
    amounts = [r["amountMicroUsd"] for r in rows if r["row"] not in ("opening", "closing")]
    balances = amount["opening"], amount["closing"]
    return signed, last[1].decode(), balances, [each for each in amounts if each]


def is_signed_by(key, signed, signature):
    # DER of a public key of ed25519 (RFC 8410) begins with these bytes.
    der = bytes.fromhex("302a300506032b6570032100") + unbase64url(key["x"])
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("key", "data", "signature")]
        for path, content in zip(paths, (der, signed, signature)):
            with open(path, "wb") as file:
                file.write(content)
        command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-keyform", "DER"]
        command += ["-inkey", paths[0], "-in", paths[1], "-sigfile", paths[2]]
        return subprocess.run(command, capture_output=True).returncode == 0


def verify(keys, data):
    signed, jws, (opening, closing), amounts = read(data)
    head, payload, signature = jws.split(".")
    header = json.loads(unbase64url(head))
    if header["typ"] != "statement" or header["alg"] != "EdDSA":
        return "not the signature of a statement"
    if unbase64url(payload).decode() != hashlib.sha256(signed).hexdigest():
        return "the digest is of another statement"
    if not is_signed_by(keys[header["kid"]], f"{head}.{payload}".encode(), unbase64url(signature)):
        return "the signature is wrong"
    if int(opening) + sum(int(each) for each in amounts) != int(closing):
        return "the movements do not lead from the opening to the closing balance"
    return None


def main(jwks, files):
    with open(jwks, "rb") as file:
        keys = {key["kid"]: key for key in json.load(file)["keys"]}
    failed = 0
    for name in files:
        with open(name, "rb") as file:
            data = file.read()
        try:
            problem = verify(keys, data)
        except (ValueError, KeyError) as error:
            problem = f"not a statement: {error!r}"
        failed += problem is not None
        print(f"{name}: {problem or 'ok'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
