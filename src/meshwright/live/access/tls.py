"""Encryption for listeners and peers, from files that an operator names."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import Certificate, load_pem_x509_certificates

from meshwright.errors import OperatorError
from meshwright.files.reading import read_bytes
from meshwright.live.settings import TlsSettings


def listening_context(tls: TlsSettings) -> ssl.SSLContext:
    """For those who are dialled; with authorities, whoever dials must show a certificate."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, tls)
    if tls.authorities is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def dialling_context(tls: TlsSettings) -> ssl.SSLContext:
    """For a broker that dials another: both show certificates of the same authorities.

    Brokers are known by the secret and the authorities of their network, not by host names.
    """
    context = _context(ssl.PROTOCOL_TLS_CLIENT, tls)
    context.check_hostname = False
    return context


def certificate_name(certificate: dict[str, object] | None) -> str | None:
    """The common name in a client's certificate, which is its user name."""
    subject = (certificate or {}).get("subject", ())
    assert isinstance(subject, tuple)
    for attributes in subject:
        for name, value in attributes:
            if name == "commonName":
                return str(value)
    return None


def certificate_digest(tls: TlsSettings) -> bytes:
    """The digest of the certificate that a broker shows, which is the first of its file."""
    return _first_certificate(tls.certificate).fingerprint(SHA256())


def _first_certificate(path: Path) -> Certificate:
    try:
        return load_pem_x509_certificates(read_bytes(path))[0]
    except ValueError:
        raise OperatorError(f"{path}: this is no certificate; name a PEM file of one.") from None


def _context(protocol: int, tls: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _first_certificate(tls.certificate)
    read_bytes(tls.key)
    try:
        context.load_cert_chain(tls.certificate, tls.key, password=_refuse_encrypted(tls.key))
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise OperatorError(
                f"{tls.key}: this key does not belong to the certificate {tls.certificate}; "
                "name the one with which that was made."
            ) from None
        raise OperatorError(f"{tls.key}: this is no key; name a PEM file of one.") from None
    if tls.authorities is not None:
        _first_certificate(tls.authorities)
        try:
            context.load_verify_locations(tls.authorities)
        except ssl.SSLError as error:
            raise OperatorError(
                f"{tls.authorities}: these authorities cannot be used ({error.reason}); name a "
                "PEM file of their certificates."
            ) from None
    return context


def _refuse_encrypted(path: Path) -> Callable[[], str]:
    """Nobody is there to be asked for words."""

    def refuse() -> str:
        raise OperatorError(
            f"{path}: this key is locked with a password; store it without one, for the broker's "
            "eyes alone."
        )

    return refuse
