"""Subscriptions that name no single topic: planning does not match them, so they are left out.

Taken for topics they would be some that nobody publishes, and plans would be made for less traffic
than there is; so whoever leaves them out says so.
"""

from __future__ import annotations

import re

from pyspark.sql import Column
from pyspark.sql import functions as sf

# A level that is + or #, or a subscription that a group shares.
PATTERN = r"^\$share/|(^|/)[+#](/|$)"
_FOUND = re.compile(PATTERN)


def is_wildcard(topic: str) -> bool:
    """Whether a subscription names more than one topic, or one that is shared."""
    return _FOUND.search(topic) is not None


def has_wildcard() -> Column:
    """The same of the column topic."""
    return sf.col("topic").rlike(PATTERN)


def told_left_out(count: int) -> str:
    """What whoever reads an answer must know of it."""
    are = "1 subscription has wildcards or is shared and was" if count == 1 else (
        f"{count:,} subscriptions have wildcards or are shared and were"
    )  # fmt: skip
    return f"{are} left out: planning does not match them with topics yet, so this is of the rest."
