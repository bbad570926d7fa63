"""Decrypt AES-GCM with the OpenSSL that Python has loaded for `ssl`.

Every start reads one encrypted value, the secret of the instance. The cryptography library brings an OpenSSL of its
own, which takes 10 MB to load; it encrypts, and decrypts where this module cannot.
"""

from collections.abc import Mapping, Sequence
from ctypes import CDLL, POINTER, byref, c_char_p, c_int, c_void_p, create_string_buffer
from functools import cache
from importlib import import_module
from typing import Any

KEY_BYTES, NONCE_BYTES, TAG_BYTES = 32, 12, 16
_SET_TAG = 0x11  # EVP_CTRL_AEAD_SET_TAG
_CONTEXT, _BYTES, _LENGTH = c_void_p, c_char_p, POINTER(c_int)
_FUNCTIONS: Mapping[str, tuple[Any, Sequence[Any]]] = {
    "EVP_aes_256_gcm": (c_void_p, ()),
    "EVP_CIPHER_CTX_new": (_CONTEXT, ()),
    "EVP_CIPHER_CTX_free": (None, (_CONTEXT,)),
    "EVP_CIPHER_CTX_ctrl": (c_int, (_CONTEXT, c_int, c_int, _BYTES)),
    "EVP_DecryptInit_ex": (c_int, (_CONTEXT, c_void_p, c_void_p, _BYTES, _BYTES)),
    "EVP_DecryptUpdate": (c_int, (_CONTEXT, c_char_p, _LENGTH, _BYTES, c_int)),
    "EVP_DecryptFinal_ex": (c_int, (_CONTEXT, c_char_p, _LENGTH)),
}
"""What each function returns and takes."""


def decrypt_aes_gcm(key: bytes, nonce: bytes, sealed: bytes, associated: bytes) -> bytes | None:
    """The text of `sealed`, which ends with its tag. None if the tag is wrong or OpenSSL cannot be used."""
    openssl = _library()
    if openssl is None or len(key) != KEY_BYTES or len(nonce) != NONCE_BYTES or len(sealed) < TAG_BYTES:
        return None
    context = openssl.EVP_CIPHER_CTX_new()
    if not context:
        return None
    try:
        return _decrypt(openssl, context, key, nonce, sealed, associated)
    finally:
        openssl.EVP_CIPHER_CTX_free(context)


def _decrypt(openssl: CDLL, context: int, key: bytes, nonce: bytes, sealed: bytes, associated: bytes) -> bytes | None:
    body, tag = sealed[:-TAG_BYTES], sealed[-TAG_BYTES:]
    text, rest = create_string_buffer(len(body) + TAG_BYTES), create_string_buffer(TAG_BYTES)
    length, unused = c_int(0), c_int(0)
    steps = (
        lambda: openssl.EVP_DecryptInit_ex(context, openssl.EVP_aes_256_gcm(), None, key, nonce),
        lambda: openssl.EVP_DecryptUpdate(context, None, byref(unused), associated, len(associated)),
        lambda: openssl.EVP_DecryptUpdate(context, text, byref(length), body, len(body)),
        lambda: openssl.EVP_CIPHER_CTX_ctrl(context, _SET_TAG, TAG_BYTES, tag),
        lambda: openssl.EVP_DecryptFinal_ex(context, rest, byref(unused)),  # compares the tag
    )
    return text.raw[: length.value] if all(step() == 1 for step in steps) else None


@cache
def _library() -> CDLL | None:
    """None where `ssl` is part of the interpreter, or hides the OpenSSL it uses."""
    try:
        library = CDLL(import_module("_ssl").__file__)  # its symbols include those of the libraries it needs
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (ImportError, OSError, AttributeError):
        return None
    return library
