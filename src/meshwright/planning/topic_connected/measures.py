"""What an overlay costs and gives, beside its connectivity: degrees and topic diameters."""

from __future__ import annotations

import numpy as np

from meshwright.model.interests import Int32Array, Interests
from meshwright.planning.topic_connected.kernels.diameters import sub_overlay_diameters
from meshwright.planning.topic_connected.kernels.membership import membership_of
from meshwright.planning.topic_connected.validation import simple_links


def topic_diameters(links: Int32Array, interests: Interests) -> Int32Array:
    """Hops of the longest shortest path in each topic, -1 where it is not connected: (topic,)."""
    diameters: Int32Array = sub_overlay_diameters(
        membership_of(interests), simple_links(links, interests.row_count)
    )
    return diameters


def degrees(links: Int32Array, broker_count: int) -> Int32Array:
    """Links of each broker: (broker,)."""
    return np.bincount(links.ravel(), minlength=broker_count).astype(np.int32)
