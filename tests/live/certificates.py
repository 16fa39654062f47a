"""Certificates of an authority of their own, as the files that settings name."""

from __future__ import annotations

import ssl
from pathlib import Path

import trustme

from meshwright.live.settings import TlsSettings


class Papers:
    """An authority with a certificate for brokers, as files."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.authority = trustme.CA()
        self.trusted = folder / "authorities.pem"
        self.authority.cert_pem.write_to_path(str(self.trusted))
        issued = self.authority.issue_cert("localhost")
        self.certificate, self.key = folder / "broker.pem", folder / "broker.key"
        issued.cert_chain_pems[0].write_to_path(str(self.certificate))
        issued.private_key_pem.write_to_path(str(self.key))

    def settings(self, *, asks: bool = False) -> TlsSettings:
        """For a broker; it asks whoever dials for a certificate, too."""
        authorities = self.trusted if asks else None
        return TlsSettings(certificate=self.certificate, key=self.key, authorities=authorities)

    def for_client(self, name: str | None = None) -> ssl.SSLContext:
        """For a client that trusts the authority, and is somebody to it or not."""
        context = ssl.create_default_context(cafile=str(self.trusted))
        if name is not None:
            issued = self.authority.issue_cert(f"{name}@example.org", common_name=name)
            issued.configure_cert(context)
        return context
