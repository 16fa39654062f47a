"""The roll: who belongs to a network, who is gone for good, and which seat each broker has.

Each broker has a count, odd while it is removed; of two counts the higher is the later word, so
rolls merge without a leader. Founders are not on it as long as nothing happens to them, and have
the first seats, in the order of their names. One that joined later has its seat in the upper bits
of its count. A seat is a number that no other broker has: epochs, hands and versions are told
apart by it.
"""

from __future__ import annotations

SEATS_MAX = 4_096
COUNT_BITS = 20

# Brokers with their counts, sorted; a founder that is not in it has the count 0.
Roll = tuple[tuple[str, int], ...]


def is_out(count: int) -> bool:
    """True if a count is that of a broker that is gone for good."""
    return count % 2 == 1


def brokers_of(founders: tuple[str, ...], counts: dict[str, int]) -> tuple[str, ...]:
    """All that ever belonged to a network: its founders, then who joined, by name."""
    return (*founders, *sorted(name for name in counts if name not in founders))


def present_of(founders: tuple[str, ...], counts: dict[str, int]) -> tuple[str, ...]:
    """Those that are not gone for good."""
    return tuple(name for name in brokers_of(founders, counts) if not is_out(counts.get(name, 0)))


def seats_of(founders: tuple[str, ...], counts: dict[str, int]) -> dict[str, int]:
    """The seat of each broker."""
    seats = {name: seat for seat, name in enumerate(sorted(founders))}
    return {
        name: seats.get(name, counts.get(name, 0) >> COUNT_BITS)
        for name in brokers_of(founders, counts)
    }


def next_count(founders: tuple[str, ...], counts: dict[str, int]) -> int | None:
    """The first count of a broker that joins: with the next seat; None if there are no more."""
    seat = max(seats_of(founders, counts).values(), default=-1) + 1
    return seat << COUNT_BITS if seat < SEATS_MAX else None


def own_count(me: str, founders: tuple[str, ...], counts: dict[str, int]) -> int:
    """What a broker says of itself: that it is there, and has a seat of its own.

    Two that join at once may be given the same seat. Before either of them uses it both are on
    every roll, and the one of the higher name takes the next.
    """
    count = counts.get(me, 0)
    if is_out(count):
        count += 1
    seats = seats_of(founders, counts)
    if any(seat == seats.get(me) and name < me for name, seat in seats.items()):
        count = next_count(founders, counts) or count
    return count
