"""The Poisson model: users drop a topic for another now and then, brokers stand all alike."""

from __future__ import annotations

from functools import partial

import numpy as np

from meshwright.model.interests import Int64Array
from meshwright.model.schema import (
    BROKERS,
    CONNECTIONS,
    DELAYS,
    PUBLICATIONS,
    SUBSCRIPTIONS,
)
from meshwright.pipeline.generators.blocks import (
    HOUR_US,
    TOPICS_PER_BLOCK,
    USERS_PER_BLOCK,
    BlockTable,
    Columns,
    Concern,
    block_count,
    names,
    stream,
)
from meshwright.pipeline.generators.parameters import PoissonParameters
from meshwright.pipeline.generators.publications import hourly_rates, publication_columns
from meshwright.pipeline.generators.topic_patterns import TopicPattern, topic_pattern


def poisson_tables(parameters: PoissonParameters) -> list[BlockTable]:
    """The tables of a trace of the model; the user's broker is any, and never changes."""
    parameters.refuse_impossible()
    pattern = topic_pattern(
        parameters.pattern,
        parameters.topics,
        zipf_exponent=parameters.zipf_exponent,
        mode_count=parameters.modes,
    )
    user_blocks = block_count(parameters.users, USERS_PER_BLOCK)
    topic_names = names("t", np.arange(parameters.topics), parameters.topics)
    rates = hourly_rates(pattern.shares, parameters)
    published = partial(publication_columns, parameters, topic_names, rates, parameters.hours)
    subscribed = partial(_subscriptions, parameters, pattern)
    return [
        BlockTable(SUBSCRIPTIONS, user_blocks, subscribed),
        BlockTable(CONNECTIONS, user_blocks, partial(_connections, parameters)),
        BlockTable(PUBLICATIONS, block_count(parameters.topics, TOPICS_PER_BLOCK), published),
        BlockTable(BROKERS, 1, partial(_brokers, parameters)),
        BlockTable(DELAYS, parameters.brokers, partial(_delays, parameters)),
    ]


def _subscriptions(parameters: PoissonParameters, pattern: TopicPattern, block: int) -> Columns:
    """What a block of users begins with, and each change: one topic off, a fresh one on."""
    rng = stream(parameters.seed, Concern.SUBSCRIPTIONS, block)
    users = np.arange(USERS_PER_BLOCK)
    homes = rng.integers(parameters.modes, size=len(users))
    everybody = np.ones(len(users), dtype=np.bool_)
    held = np.full((len(users), parameters.topics_per_user), -1, dtype=np.int64)
    for place in range(parameters.topics_per_user):
        held[:, place] = pattern.draw_fresh(rng, held, homes, everybody)
    found = [
        _events(np.zeros(held.size), np.repeat(users, held.shape[1]), held.flatten(), is_on=True)
    ]
    change_counts = rng.poisson(parameters.changes_per_hour * parameters.hours, size=len(users))
    hours = np.sort(
        np.where(
            np.arange(change_counts.max(initial=0)) < change_counts[:, None],
            rng.random((len(users), change_counts.max(initial=0))) * parameters.hours,
            np.inf,
        ),
        axis=1,
    )
    for change in range(hours.shape[1]):
        changing = np.flatnonzero(change_counts > change)
        places = rng.integers(parameters.topics_per_user, size=len(changing))
        stays_home = rng.random(len(changing)) >= parameters.leaving_share
        fresh = pattern.draw_fresh(rng, held[changing], homes[changing], stays_home)
        when = hours[changing, change]
        found.append(_events(when, changing, held[changing, places], is_on=False))
        found.append(_events(when, changing, fresh, is_on=True))
        held[changing, places] = fresh
    times, who, topics, is_on = (np.concatenate(parts) for parts in zip(*found, strict=True))
    who = who + block * USERS_PER_BLOCK
    kept = np.lexsort((topics, is_on, who, times))
    kept = kept[who[kept] < parameters.users]
    return {
        "time": parameters.begin_us() + times[kept],
        "client": names("u", who[kept], parameters.users),
        "topic": names("t", topics[kept], parameters.topics),
        "is_on": is_on[kept].astype(np.bool_),
    }


def _events(
    hours: np.ndarray, users: Int64Array, topics: Int64Array, *, is_on: bool
) -> tuple[Int64Array, ...]:
    """Microseconds, users, topics and 1 for a topic that is wanted from then on."""
    return (
        (hours * HOUR_US).astype(np.int64),
        users.astype(np.int64),
        topics,
        np.full(len(users), int(is_on), dtype=np.int64),
    )


def _connections(parameters: PoissonParameters, block: int) -> Columns:
    rng = stream(parameters.seed, Concern.CONNECTIONS, block)
    brokers = rng.integers(parameters.brokers, size=USERS_PER_BLOCK)
    first = block * USERS_PER_BLOCK
    users = np.arange(first, min(first + USERS_PER_BLOCK, parameters.users))
    return {
        "time": np.full(len(users), parameters.begin_us(), dtype=np.int64),
        "client": names("u", users, parameters.users),
        "broker": names("b", brokers[: len(users)], parameters.brokers),
        "is_on": np.ones(len(users), dtype=np.bool_),
    }


def _brokers(parameters: PoissonParameters, _block: int) -> Columns:
    nothing = [None] * parameters.brokers
    return {
        "broker": names("b", np.arange(parameters.brokers), parameters.brokers),
        "latitude": nothing,
        "longitude": nothing,
        "capacity": nothing,
        "site": nothing,
    }


def _delays(parameters: PoissonParameters, source: int) -> Columns:
    others = np.delete(np.arange(parameters.brokers), source)
    return {
        "source": names("b", np.full(len(others), source), parameters.brokers),
        "target": names("b", others, parameters.brokers),
        "delay_ms": np.full(len(others), parameters.delay_ms),
    }
