"""An overlay: which design, where each broker sits, and the links."""

from __future__ import annotations

import msgspec

OVERLAY_VERSION = 1

Parameter = int | float | str | bool | None


class Overlay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How brokers are joined: small, serialisable, comparable.

    links are unordered pairs of broker names; positions maps each broker to its identifier on the
    geometry's key space, or is None where the design has no positions.
    """

    design: str
    params: dict[str, Parameter] = {}
    brokers: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    positions: dict[str, int] | None = None
    version: int = OVERLAY_VERSION
