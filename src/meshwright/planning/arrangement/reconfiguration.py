"""What it costs to move brokers, and whether planning is worth while at all [DYNATOPS, eq. 11].

Messages, with every constant of the paper's bound taken as one: one to each broker, then for each
moved broker log2(n)**2 to leave and rejoin and log2(n) for each topic tree.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from meshwright.model.snapshot import Float64Array

RECONFIGURABILITY_BETA = 0.1


def move_price(broker_count: int, topic_count: int) -> float:
    """Messages for each moved broker."""
    bits = math.log2(broker_count)
    return bits * bits + topic_count * bits


def reconfiguration_cost(moved: int, broker_count: int, topic_count: int) -> float:
    """Messages to move some brokers; none if nobody moves."""
    return float(reconfiguration_costs(np.array(moved), broker_count, topic_count))


def reconfiguration_costs(
    moved: NDArray[np.integer], broker_count: int, topic_count: int
) -> Float64Array:
    """The same for many counts of moved brokers at once."""
    costs = broker_count + moved * move_price(broker_count, topic_count)
    return np.where(moved == 0, 0.0, costs)


def is_reconfigurable(
    cost: float, broker_count: int, topic_count: int, beta: float = RECONFIGURABILITY_BETA
) -> bool:
    """True if the cost exceeds a share of what moving every broker costs [DYNATOPS, Alg. 3]."""
    return cost > beta * reconfiguration_cost(broker_count, broker_count, topic_count)
