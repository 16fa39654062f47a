"""Changes of overlay that were not whole: in the end one overlay is in force, and no plan goes on.

An epoch belongs to one plan for all time. When a run has come to its end, all brokers that are up
carry the overlay of the same epoch, and none of them is still bound to a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from meshwright.history.violation import Violation, seconds
from meshwright.protocol.observation import Observation
from meshwright.protocol.reconfiguration.messages import PlanRecord
from meshwright.sim.brokers.records import Recorded


def epochs_shared(records: Iterable[Recorded]) -> list[Violation]:
    """Every report of an epoch under which another plan was known before."""
    found: list[Violation] = []
    plans: dict[int, str] = {}
    for time_us, broker, record in records:
        if not isinstance(record, PlanRecord) or record.step == "refused":
            continue
        known = plans.setdefault(record.epoch, record.plan)
        if known != record.plan:
            sentence = (
                f"{broker} reported at {seconds(time_us)} that plan {record.plan} of epoch "
                f"{record.epoch} was {record.step}, an epoch that plan {known} had before"
            )
            found.append(Violation(checker="epochs", sentence=sentence, time_us=time_us))
    return found


def torn(observed: Mapping[str, Observation], time_us: int) -> list[Violation]:
    """Every broker that is not where the highest epoch is, or still bound to a plan."""
    found: list[Violation] = []
    newest = max(observed.values(), key=lambda one: one.epoch, default=None)
    for broker, one in observed.items():
        if newest is not None and (one.epoch, one.overlay) != (newest.epoch, newest.overlay):
            sentence = f"{broker} is left on epoch {one.epoch}, while {newest.epoch} is in force"
            found.append(Violation(checker="epochs", sentence=sentence, time_us=time_us))
        if one.is_changing:
            sentence = f"{broker} is still bound to a plan at {seconds(time_us)}"
            found.append(Violation(checker="epochs", sentence=sentence, time_us=time_us))
    return found
