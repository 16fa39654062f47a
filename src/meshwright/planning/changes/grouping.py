"""Steps of a plan as people read them: those alike in one sentence, with how many they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from meshwright.model.plan import ClientMove, Step
from meshwright.model.wording import amount, counted

NAMED_MAX = 4
LINK_WORDS = {"add_link": "is linked with", "remove_link": "is linked no more with"}
# What one step does, with the names of those that take part.
CHANGES = {
    "swap_positions": "{} and {} swap positions",
    "move_client": "{} moves from {} to {}",
    "add_broker": "{} comes",
    "remove_broker": "{} goes",
    **{action: f"{{}} {words} {{}}" for action, words in LINK_WORDS.items()},
}
# Clients go for these where their broker has too many.
LOADS = {"clients", "subscriptions"}


@dataclass(frozen=True, slots=True)
class StepGroup:
    """Steps of one action that one sentence tells."""

    steps: tuple[Step, ...]
    sentence: str


def grouped(steps: Sequence[Step]) -> list[StepGroup]:
    """Clients that go the same way, and links of one broker, together; in the order of steps."""
    groups: dict[tuple[str, ...], list[Step]] = {}
    for number, step in enumerate(steps):
        groups.setdefault(_key(number, step), []).append(step)
    sought = {step.brokers[-1] for step in steps if step.metric == "topics_shared"}
    return [StepGroup(tuple(alike), _sentence(tuple(alike), sought)) for alike in groups.values()]


def grouped_moves(moves: Iterable[ClientMove]) -> list[str]:
    """A clause for each way that clients go, the busiest first."""
    ways: dict[tuple[str, str], list[str]] = {}
    for move in moves:
        ways.setdefault((move.source, move.target), []).append(move.client)
    busiest = sorted(ways.items(), key=lambda way: -len(way[1]))
    return [f"{_who(clients)}: {source} to {target}" for (source, target), clients in busiest]


def grouped_links(links: Iterable[tuple[str, str]]) -> list[str]:
    """A clause for each broker and those that it is linked with."""
    ends: dict[str, list[str]] = {}
    for one, other in links:
        ends.setdefault(one, []).append(other)
    return [f"link {one} {some(others)}" for one, others in ends.items()]


def some(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(names[:NAMED_MAX]) + more


def _key(number: int, step: Step) -> tuple[str, ...]:
    if step.action == "move_client":
        return step.action, *step.brokers[1:], step.algorithm, step.metric
    if step.action in LINK_WORDS:
        return step.action, step.brokers[0], step.algorithm, step.metric
    return step.action, str(number)


def _sentence(steps: tuple[Step, ...], sought: set[str]) -> str:
    """What steps do that are alike; sought: brokers that other clients come to for their topics."""
    first = steps[0]
    if len(steps) == 1:
        change = f"{first.metric.replace('_', ' ')} {amount(first.before)} to {amount(first.after)}"
        told = f"({change}, by {first.algorithm})"
        return f"{CHANGES[first.action].format(*first.brokers)}: {first.why} {told}"
    if first.action == "move_client":
        _, source, target = first.brokers
        names = some([step.brokers[0] for step in steps])
        room = ""
        if first.metric in LOADS and source in sought:
            room = f"; they make room at {source} for clients that come for their topics"
        return f"{len(steps):,} clients of {source} to {target}: {_moved(steps)}{room} ({names})"
    others = [step.brokers[1] for step in steps]
    return f"{first.brokers[0]} {LINK_WORDS[first.action]} {some(others)}: {_linked(steps)}"


def _moved(steps: tuple[Step, ...]) -> str:
    """Why clients go the same way, all for the sake of one metric."""
    first, count = steps[0], len(steps)
    _, source, target = first.brokers
    # Each is counted by itself: at its old broker if it alone had stayed, at the new one as it is.
    here, there = (fmean(getattr(step, name) for step in steps) for name in ("before", "after"))
    if first.metric == "topics_shared":
        topics = "1 topic" if round(there, 1) == 1.0 else f"{amount(round(there, 1))} topics"
        return (
            f"on average they share {topics} with others of {target}, and "
            f"{amount(round(here, 1))} with those of {source}"
        )
    if first.metric == "clients":
        return (
            f"with them {source} would have {amount(here + count - 1)} clients, more than its fair "
            f"share; {target} has {amount(there)}"
        )
    if first.metric == "subscriptions":
        return (
            f"with any of them clients of {source} would have {amount(round(here))} subscriptions "
            f"on average, those of {target} have {amount(round(there))}"
        )
    if first.metric == "clients_unserved":
        return f"{source} leaves the network"
    if first.algorithm == "location":
        return f"{target} is the broker that is nearest to where they were seen last"
    return f"{target} is the broker for them by {first.algorithm} placement, {source} is not"


def _linked(steps: tuple[Step, ...]) -> str:
    first = steps[0]
    if first.metric == "topic_parts":
        joined = round(sum(step.before - step.after for step in steps))
        if not joined:
            return "the links give them other ways, for when a broker fails or is far."
        return f"the links join {counted(joined, 'part')} of topics that were apart."
    if len({step.why for step in steps}) == 1:
        return first.why
    if first.action == "add_link":
        return "what they share goes straight between them."
    return "the other links carry what they share."


def _who(names: Sequence[str]) -> str:
    return f"client {names[0]}" if len(names) == 1 else f"{len(names):,} clients"
