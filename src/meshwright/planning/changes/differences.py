"""How two plans differ: in what they are worth, where they lead, and whom they move."""

from __future__ import annotations

import msgspec

from meshwright.model.designs import founded_as
from meshwright.model.overlay import Overlay
from meshwright.model.plan import ClientMove, Plan
from meshwright.model.wording import counted

Link = tuple[str, str]
NAMED_MAX = 3


class PlanDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What the second plan has and the first has not, and the other way round.

    links and moves: of one plan only. positions: brokers that end elsewhere.
    Costs and benefits are (first, second); price_after: of a publication, if both plans say it.
    """

    same_source: bool
    designs: tuple[str, str]
    cost_after: tuple[float, float]
    price_after: tuple[float, float] | None
    reconfiguration_cost: tuple[float, float]
    net_benefit: tuple[float, float]
    links_first: tuple[Link, ...]
    links_second: tuple[Link, ...]
    positions: tuple[str, ...]
    moves_first: tuple[ClientMove, ...]
    moves_second: tuple[ClientMove, ...]

    @property
    def is_none(self) -> bool:
        """Whether both plans lead to the same network."""
        same_design = self.designs[0] == self.designs[1]
        parts = (self.links_first, self.links_second, self.positions)
        moves = (self.moves_first, self.moves_second)
        return self.same_source and same_design and not any((*parts, *moves))


def plan_difference(first: Plan, second: Plan) -> PlanDifference:
    """Compare where two plans lead; the order of steps on the way counts for nothing."""
    first_moves, second_moves = first.client_moves(), second.client_moves()
    return PlanDifference(
        same_source=_is_same_begin(first.source, second.source),
        designs=(founded_as(first.target), founded_as(second.target)),
        cost_after=(first.cost.after, second.cost.after),
        price_after=None
        if first.price is None or second.price is None
        else (first.price.after.total, second.price.after.total),
        reconfiguration_cost=(first.reconfiguration_cost, second.reconfiguration_cost),
        net_benefit=(first.net_benefit, second.net_benefit),
        links_first=_only_links(first.target, second.target),
        links_second=_only_links(second.target, first.target),
        positions=_elsewhere(first.target, second.target),
        moves_first=tuple(move for move in first_moves if move not in second_moves),
        moves_second=tuple(move for move in second_moves if move not in first_moves),
    )


def _is_same_begin(one: Overlay, other: Overlay) -> bool:
    """Whether two plans start alike; where no link stands, it has no design that could differ."""
    are_bare = not one.links and not other.links
    return one == other or (are_bare and one.brokers == other.brokers)


def overlay_changes(known: Overlay, now: Overlay) -> tuple[str, ...]:
    """What has changed since an overlay was known, a clause each; nothing if it is the same."""
    if known == now:
        return ()
    joined = [name for name in now.brokers if name not in known.brokers]
    left = [name for name in known.brokers if name not in now.brokers]
    if known.design != now.design:
        return (f"the design is {now.design}, not {known.design}",)
    changes = []
    if joined:
        changes.append(f"{_some(joined)} joined")
    if left:
        changes.append(f"{_some(left)} left")
    if known.params != now.params:
        changes.append("its parameters are others")
    elsewhere = [name for name in _elsewhere(known, now) if name in now.brokers]
    if elsewhere:
        changes.append(f"{_some(elsewhere)} changed position")
    new, gone = _only_links(now, known), _only_links(known, now)
    if new:
        changes.append(f"{counted(len(new), 'link')} came, such as {' to '.join(new[0])}")
    if gone:
        changes.append(f"{counted(len(gone), 'link')} went, such as {' to '.join(gone[0])}")
    return tuple(changes or ("its brokers or links stand in another order",))


def _only_links(one: Overlay, other: Overlay) -> tuple[Link, ...]:
    known = {frozenset(link) for link in other.links}
    return tuple(link for link in one.links if frozenset(link) not in known)


def _elsewhere(one: Overlay, other: Overlay) -> tuple[str, ...]:
    seats, others = one.positions or {}, other.positions or {}
    return tuple(name for name in one.brokers if seats.get(name) != others.get(name))


def _some(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(names[:NAMED_MAX]) + more
