"""What a person may say about an import."""

from __future__ import annotations

from typing import Literal

import msgspec

Format = Literal["gowalla", "foursquare", "csv", "jsonl", "mosquitto-log"]
TopicOf = Literal["category", "venue"]


class ImportParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The format, and what only some formats ask for."""

    format: Format
    is_strict: bool = False
    table: str | None = None
    """csv, jsonl: the table that the files are of; otherwise their names say it."""
    topic_of: TopicOf = "category"
    """foursquare: what of a check-in is the topic."""
    interest_days: float = 30.0
    """foursquare: how long a check-in keeps its topic interesting."""
    payload_bytes: int = 64
    """foursquare: length of the publication that a check-in is."""
