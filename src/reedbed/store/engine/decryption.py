"""Decrypt one value in a process of its own: `python -m reedbed.store.engine.decryption`.

A process that serves pages needs the cryptography library only for passwords. The instance's own secret, which
every process reads when it starts, is decrypted here, so that the 10 MB of the library are not loaded for it.

Standard input holds three lines in hexadecimal: key, purpose, and nonce with ciphertext. Standard output gets the
text. Nothing of it is visible in the list of processes. This module imports nothing else of Reedbed.
"""

import sys

NONCE_BYTES = 12


def decrypt(key: bytes, purpose: bytes, ciphertext: bytes) -> str | None:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:], purpose).decode()
    except (InvalidTag, ValueError):
        return None


if __name__ == "__main__":
    text = decrypt(*(bytes.fromhex(line) for line in sys.stdin.read().splitlines()))
    if text is None:
        sys.exit(1)
    sys.stdout.buffer.write(text.encode())
