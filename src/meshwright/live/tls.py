"""Encryption for listeners and peers, from files that an operator names."""

from __future__ import annotations

import ssl
from hashlib import sha256

from meshwright.errors import OperatorError
from meshwright.files.reading import read_text
from meshwright.live.settings import TlsSettings

PEM_BEGIN, PEM_END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


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
    text = read_text(tls.certificate)
    begin, end = text.find(PEM_BEGIN), text.find(PEM_END)
    try:
        return sha256(ssl.PEM_cert_to_DER_cert(text[begin : end + len(PEM_END)])).digest()
    except ValueError as error:
        raise OperatorError(
            f"{tls.certificate}: this is no certificate ({error}); name a PEM file."
        ) from None


def _context(protocol: int, tls: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(tls.certificate, tls.key)
        if tls.authorities is not None:
            context.load_verify_locations(tls.authorities)
    except (OSError, ssl.SSLError) as error:
        raise OperatorError(
            f"{tls.certificate}, {tls.key}: these certificates cannot be used ({error}); "
            "name PEM files of a certificate, its key and its authorities."
        ) from error
    return context
