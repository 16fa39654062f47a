"""meshwright plan create --method churn without a trace: of what brokers want now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from meshwright.model.goals import Goals
    from meshwright.model.plan import Plan
    from meshwright.planning.changes.broker_change import BrokerChange


class ChurnWish(NamedTuple):
    """What is to be planned; design None: that of the overlay in force."""

    design: str | None
    change: BrokerChange
    goals: Goals
    delay_weight: float
    seed: int


class Known(NamedTuple):
    """Where the overlay in force is written, or runs, and who wants what there."""

    source: Path | None
    data: Path | None
    interests: Path | None


def churn_plan(wish: ChurnWish, known: Known) -> Plan:
    """A plan for brokers that came and went; every topic counts as published once."""
    import msgspec

    from meshwright.errors import OperatorError
    from meshwright.files.plans import read_overlay_or_target
    from meshwright.files.snapshots import read_snapshot
    from meshwright.manager.deciding.wanted import snapshot_of, wanted_of
    from meshwright.manager.network.running import RunningNetwork
    from meshwright.model.designs import founded_as
    from meshwright.planning.changes.network import CHURN, PlanWish
    from meshwright.planning.changes.proposal import Circumstances, propose

    source, data, interests = known
    if (source is None) == (data is None) or (source is None) != (interests is None):
        raise OperatorError(
            "Without a TRACE, --method churn plans for the brokers that run in --data FOLDER, or "
            "from --from FILE with --interests FILE; give one or the other."
        )
    if data is not None:
        views = [view for _, view in RunningNetwork(data).views().values()]
        today = max(views, key=lambda view: view.epoch).overlay
        snapshot = snapshot_of(wanted_of(views), today.brokers)
    else:
        assert source is not None
        assert interests is not None
        today = read_overlay_or_target(source)
        snapshot = read_snapshot(interests, brokers=today.brokers)
    return propose(
        snapshot,
        PlanWish(wish.design or founded_as(today), method=CHURN, delay_weight=wish.delay_weight),
        Circumstances(source=today, change=wish.change, seed=wish.seed),
        # Clients stay where they are, and are not counted here.
        msgspec.structs.replace(wish.goals, clients_max=None),
    )
