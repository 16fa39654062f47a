"""How fast the matching index answers, from the cache and without it, beside the naive loop."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from benchmarks.table import Row, timed
from meshwright.filters.covering import cover_set
from meshwright.filters.filter import Filter, matches, parse_filter
from meshwright.filters.index import FilterIndex

SITES, ROOMS = 100, 100
HIT_TARGET_US = 1.0
PROPERTIES = [("location", "room7"), ("value", "50.5")]


def rows() -> list[Row]:
    return [*matching_rows(), content_row(), change_row(), cover_set_row()]


def matching_rows() -> list[Row]:
    """20,000 exact and 10,201 wildcard filters, five of which want any one of these topics."""
    filters = room_filters()
    index = index_of(filters)
    topics = [f"site{site}/room{site}/temperature" for site in range(SITES)]
    fresh: FilterIndex[int] = index_of(filters, cached_topics_max=1)
    hit_us = microseconds(lambda: [index.match(topic) for topic in topics], SITES, repeat=50)
    miss_us = microseconds(lambda: [fresh.match(topic) for topic in topics], SITES, repeat=10)
    naive_us = microseconds(lambda: [f for f in filters if matches(f, topics[0])], 1)
    wanted = len(index.match(topics[0]))
    note = f"{len(filters):,} filters, {wanted} match"
    return [
        Row(
            "match a topic, cached",
            f"{hit_us:.2f} us",
            f"< {HIT_TARGET_US:g} us",
            met=hit_us < HIT_TARGET_US,
            note=note,
        ),
        Row("match a topic, not cached", f"{miss_us:.1f} us", "-", note=note),
        Row("match a topic, naive loop", f"{naive_us:,.0f} us", "-", note=note),
    ]


def content_row() -> Row:
    filters = [parse_filter(f"$where/location=room{i % 10}&value>{i}/a/b") for i in range(100)]
    index = index_of(filters)
    wanted = len(index.match("a/b", PROPERTIES))
    taken_us = microseconds(lambda: index.match("a/b", PROPERTIES), 1, repeat=200)
    note = f"100 filters with 2 clauses each, {wanted} match"
    return Row("match a topic, cached, then clauses", f"{taken_us:.1f} us", "-", note=note)


def change_row() -> Row:
    filters = room_filters()
    index = index_of(filters)

    def change() -> None:
        for wanted in filters:
            index.add(-1, wanted)
        for wanted in filters:
            index.discard(-1, wanted)

    taken_us = microseconds(change, 2 * len(filters))
    note = f"beside {len(filters):,} filters"
    return Row("add or discard a filter", f"{taken_us:.1f} us", "-", note=note)


def cover_set_row() -> Row:
    filters = room_filters()
    seconds, kept = timed(lambda: cover_set(filters[1:]), repeat=1)
    note = f"{len(kept):,} of {len(filters) - 1:,} filters remain"
    return Row("leave out covered filters", f"{seconds:.2f} s", "-", note=note)


def room_filters() -> list[Filter]:
    """Everything, each room by two quantities, each room as a whole, each site's temperatures."""
    rooms = list(product(range(SITES), range(ROOMS)))
    texts = [
        "#",
        *(f"site{s}/room{r}/{what}" for s, r in rooms for what in ("temperature", "humidity")),
        *(f"site{s}/room{r}/#" for s, r in rooms),
        *(f"site{s}/+/temperature" for s in range(SITES)),
        *(f"+/room{r}/temperature" for r in range(ROOMS)),
    ]
    return [parse_filter(text) for text in texts]


def index_of(filters: list[Filter], cached_topics_max: int = 1000) -> FilterIndex[int]:
    index: FilterIndex[int] = FilterIndex(cached_topics_max)
    for owner, wanted in enumerate(filters):
        index.add(owner, wanted)
    return index


def microseconds(work: Callable[[], object], steps: int, repeat: int = 3) -> float:
    """Least microseconds a step of the work takes."""
    work()
    seconds, _ = timed(work, repeat)
    return seconds / steps * 1e6
