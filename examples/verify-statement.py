#!/usr/bin/env python3
"""Verifies signed statements of charges with nothing but Python and openssl.

  curl https://data.example/.well-known/jwks.json > jwks.json
  python3 verify-statement.py jwks.json november.json
"""

import base64
import json
import os
import subprocess
import sys
import tempfile


def unbase64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


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


def verify(keys, file):
    """What is wrong; what is signed counts, not what the file shows beside it."""
    head, payload, signature = file["jws"].split(".")
    header = json.loads(unbase64url(head))
    if header["typ"] != "statement" or header["alg"] != "EdDSA":
        return "not the signature of a statement"
    if not is_signed_by(keys[header["kid"]], f"{head}.{payload}".encode(), unbase64url(signature)):
        return "the signature is wrong"
    statement = json.loads(unbase64url(payload))
    if file["statement"] != statement:
        return "the statement that the file shows is not the one that is signed"
    amounts = sum(int(each["amountMicroUsd"]) for each in statement["movements"])
    if int(statement["openingBalanceMicroUsd"]) + amounts != int(statement["closingBalanceMicroUsd"]):
        return "the movements do not lead from the opening to the closing balance"
    return None


def main(jwks, files):
    with open(jwks, "rb") as file:
        keys = {key["kid"]: key for key in json.load(file)["keys"]}
    failed = 0
    for name in files:
        try:
            with open(name, "rb") as file:
                problem = verify(keys, json.load(file))
        except (ValueError, KeyError) as error:
            problem = f"not a statement: {error!r}"
        failed += problem is not None
        print(f"{name}: {problem or 'ok'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
