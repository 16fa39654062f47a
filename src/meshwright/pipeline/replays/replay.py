"""A trace replayed: all stages one after another, from its tables to the comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, get_args

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.errors import OperatorError
from meshwright.model import replay_schema, schema
from meshwright.model.designs import NOW, design
from meshwright.model.overlay import Overlay
from meshwright.model.schema import Table
from meshwright.model.times import SECOND_US
from meshwright.pipeline.places.place import Place
from meshwright.pipeline.replays.keeping import Keeper, Kept, files_digest
from meshwright.pipeline.replays.parameters import PlacementName, ReplayParameters
from meshwright.pipeline.replays.paying_period import EPOCH_SLOTS, paying_period
from meshwright.pipeline.replays.snapshots import Moment, TraceMoment
from meshwright.pipeline.replays.wishes import (
    is_located,
    is_tabled,
    raise_impossible,
    refuse_impossible,
    replayed_designs,
    standing_placement,
)
from meshwright.pipeline.stages.broker_interests import (
    broker_changes,
    broker_spans,
    hosted_changes,
    snapshots,
)
from meshwright.pipeline.stages.entries import entries
from meshwright.pipeline.stages.homes import asked_homes, located_homes, with_strangers
from meshwright.pipeline.stages.interests import located_interests, subscribed_interests
from meshwright.pipeline.stages.metrics import Replayed, comparison, metrics
from meshwright.pipeline.stages.overlays import overlays
from meshwright.pipeline.stages.placement import (
    Selection,
    placed_at_homes,
    placed_by_similarity,
)
from meshwright.pipeline.stages.rates import even_rates, publication_rates
from meshwright.pipeline.stages.replay import ReplayInputs, replayed
from meshwright.pipeline.stages.taking import content_count, idle_count
from meshwright.pipeline.stages.visits import cells, visits
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.timeline import Timeline, spanning
from meshwright.pipeline.tables.trace_brokers import (
    has_brokers,
    made_brokers,
    refuse_strangers,
    trace_brokers,
)
from meshwright.pipeline.tables.traces import read_table, table_names
from meshwright.planning.placement.clusters import exchange_messages

Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TraceReplay:
    """What came of a trace: the tables of its stages, and what they are about.

    content_count: subscriptions that take only some messages of their topics; all are counted.
    unwanted_count: topics that were published and that nobody ever wanted. idle_count: filters that
    take no topic which is known.
    today: the overlay that stood before, if one was given. period: why it plans as often as it
    does, where that was chosen.
    """

    parameters: ReplayParameters
    timeline: Timeline
    brokers: Brokers
    placements: tuple[str, ...]
    designs: tuple[str, ...]
    tables: dict[str, DataFrame]
    content_count: int = 0
    unwanted_count: int = 0
    idle_count: int = 0
    today: Overlay | None = None
    period: str = ""


def replay_trace(
    session: SparkSession,
    trace: Place,
    parameters: ReplayParameters,
    keeper: Keeper,
    today: Overlay | None = None,
) -> TraceReplay:
    """Replay a trace against every placement and design; see TraceReplay.tables for what is found.

    The tables stand as long as the keeper's folder does. today: the overlay that stands; it is one
    of the designs, by the name NOW, and the others begin at it.
    """
    return _Replay(session, trace, parameters, keeper, today).run()


def replay_moment(chosen: ReplayParameters, timeline: Timeline) -> Moment:
    """The end of a trace as a replay of it sees things, with an epoch as the horizon."""
    slot_s = timeline.slot_us / SECOND_US
    return Moment(
        slot_s=slot_s,
        horizon_s=timeline.epoch_slots * slot_s,
        alpha=chosen.publications.alpha,
        cell_degrees=chosen.interests.cell_degrees,
        publications_per_slot=float(chosen.publications.per_slot),
        broker_count=chosen.brokers.count,
        seed=chosen.seed,
    )


class _Replay:
    """The stages in their order, each kept with what went into it."""

    def __init__(
        self,
        session: SparkSession,
        trace: Place,
        parameters: ReplayParameters,
        keeper: Keeper,
        today: Overlay | None,
    ) -> None:
        self.session = session
        self.trace = trace
        self.parameters = parameters
        self.keeper = keeper
        self.today = today
        self.period = ""
        self.names = table_names(trace)
        self.kept: dict[str, Kept] = {}

    def run(self) -> TraceReplay:
        """All stages."""
        refuse_impossible(self.trace, self.parameters)
        self._keep_interests()
        timeline = self._timeline()
        self._keep_rates(timeline)
        brokers = self._brokers()
        self._refuse_strange_overlay(brokers)
        placements = self._placements(brokers)
        self._keep_placements(brokers, timeline, placements)
        self._keep_entries(timeline, placements)
        self._keep_broker_interests(timeline)
        found = TraceReplay(
            self.parameters,
            timeline,
            brokers,
            placements,
            (
                *([] if self.today is None else [NOW]),
                *replayed_designs(self.parameters, brokers.count),
            ),
            {},
            self._content_count(),
            self._unwanted_count(),
            self._idle_count(),
            self.today,
            self.period,
        )
        self._keep_replay(found)
        found.tables.update({name: kept.frame for name, kept in self.kept.items()})
        return found

    def _keep(
        self,
        table: Table,
        make: Callable[..., DataFrame],
        inputs: Sequence[str],
        **settings: Any,
    ) -> None:
        """Make a table of other tables, or take the one that was made of the same."""
        sources = [self.kept[name] for name in inputs]
        frames = [source.frame for source in sources]
        self.kept[table.name] = self.keeper.keep(table, lambda: make(*frames), sources, settings)

    def _read(self, table: Table) -> DataFrame:
        """A table of the trace as it is on disk."""
        if table.name not in self.kept:
            frame = read_table(self.session, self.trace, table)
            self.kept[table.name] = Kept(frame, files_digest(self.trace / table.name))
        return self.kept[table.name].frame

    def _keep_interests(self) -> None:
        if schema.POSITIONS.name in self.names:
            self._read(schema.POSITIONS)
            degrees = self.parameters.interests.cell_degrees
            self._keep(
                schema.VISITS,
                lambda positions: visits(cells(positions, degrees)),
                [schema.POSITIONS.name],
                cell_degrees=degrees,
            )
        if not is_located(self.names, self.parameters):
            tables = [schema.SUBSCRIPTIONS]
            tables += [schema.PUBLICATIONS] if schema.PUBLICATIONS.name in self.names else []
            for table in tables:
                self._read(table)
            inputs = [table.name for table in tables]
            self._keep(replay_schema.INTERESTS, subscribed_interests, inputs)
            return
        inputs = [schema.VISITS.name]
        if schema.FRIENDSHIPS.name in self.names:
            self._read(schema.FRIENDSHIPS)
            self._keep(
                replay_schema.INTERESTS, located_interests, [*inputs, schema.FRIENDSHIPS.name]
            )
        else:
            self._keep(replay_schema.INTERESTS, located_interests, inputs)

    def _content_count(self) -> int:
        if is_located(self.names, self.parameters):
            return 0
        return content_count(self._read(schema.SUBSCRIPTIONS))

    def _idle_count(self) -> int:
        if is_located(self.names, self.parameters):
            return 0
        is_told = schema.PUBLICATIONS.name in self.names
        published = self._read(schema.PUBLICATIONS) if is_told else None
        return idle_count(self._read(schema.SUBSCRIPTIONS), published)

    def _unwanted_count(self) -> int:
        published, wanted = (
            self.kept[table.name].frame.select("topic").distinct()
            for table in (replay_schema.RATES, replay_schema.INTERESTS)
        )
        return published.join(wanted, on="topic", how="left_anti").count()

    def _timeline(self) -> Timeline:
        """From the first interest or publication to the last."""
        times = [self.kept[replay_schema.INTERESTS.name].frame.select("time")]
        if schema.PUBLICATIONS.name in self.names:
            times.append(self._read(schema.PUBLICATIONS).select("time"))
        span = (
            reduce(DataFrame.unionByName, times)
            .agg(
                sf.min(sf.unix_micros("time")).alias("begin"),
                sf.max(sf.unix_micros("time")).alias("end"),
            )
            .collect()[0]
        )
        if span.begin is None:
            raise OperatorError(f"{self.trace}: nobody wants anything in this trace; give another.")
        time = self.parameters.time
        timeline = spanning(span.begin, span.end, time.slot_s, time.epoch_slots or EPOCH_SLOTS)
        if not time.epoch_slots and any(
            "arrangement" in design(name).given for name in replayed_designs(self.parameters)
        ):
            timeline = self._paying(timeline)
        if time.warmup_slots >= timeline.slot_count:
            raise OperatorError(
                f"{self.trace}: the trace has {timeline.slot_count} slots and {time.warmup_slots} "
                "are left out, so nothing is left to compare; choose shorter slots or leave out "
                "fewer."
            )
        return timeline

    def _paying(self, timeline: Timeline) -> Timeline:
        """The timeline with epochs in which a move of brokers can pay for itself."""
        moment = replay_moment(self.parameters, replace(timeline, epoch_slots=EPOCH_SLOTS))
        snapshot = TraceMoment(self.session, self.trace, moment).snapshot()
        weight = self.parameters.overlay.delay_weight
        period = paying_period(snapshot, timeline.slot_count, delay_weight=weight)
        self.period = period.reason
        return replace(timeline, epoch_slots=period.epoch_slots)

    def _keep_rates(self, timeline: Timeline) -> None:
        chosen = self.parameters.publications
        if schema.PUBLICATIONS.name in self.names:
            self._keep(
                replay_schema.RATES,
                lambda published: publication_rates(published, timeline, alpha=chosen.alpha),
                [schema.PUBLICATIONS.name],
                timeline=timeline,
                alpha=chosen.alpha,
            )
        else:
            self._keep(
                replay_schema.RATES,
                lambda interests: even_rates(interests, timeline, chosen.per_slot),
                [replay_schema.INTERESTS.name],
                timeline=timeline,
                per_slot=chosen.per_slot,
            )

    def _brokers(self) -> Brokers:
        """Those of the trace; where it names none, brokers where most visits are, or anywhere."""
        if has_brokers(self.trace):
            return trace_brokers(self.trace, self._read)
        seen = self.kept.get(schema.VISITS.name)
        degrees = self.parameters.interests.cell_degrees
        count = self.parameters.brokers.count
        return made_brokers(count, None if seen is None else seen.frame, degrees)

    def _designs(self, brokers: Brokers) -> tuple[str, ...]:
        """What stands today, if that is known, and those that are wanted."""
        names = replayed_designs(self.parameters, brokers.count)
        return names if self.today is None else (NOW, *names)

    def _refuse_strange_overlay(self, brokers: Brokers) -> None:
        """Today's overlay joins the brokers of the trace, all of them and no others."""
        strangers = sorted(set(brokers.names) ^ set(self.today.brokers)) if self.today else []
        if strangers:
            raise OperatorError(
                f"{self.trace}: broker {strangers[0]!r} is in only one of the trace and today's "
                "overlay; give the overlay of all its brokers."
            )

    def _placements(self, brokers: Brokers) -> tuple[PlacementName, ...]:
        """Those that are wanted and the one that stands, or all that the trace allows, in order."""
        possible: dict[PlacementName, bool] = {
            name: is_tabled(name, self.names) for name in get_args(PlacementName)
        }
        possible["location"] &= brokers.coordinates is not None
        wanted = self.parameters.placement.methods
        if wanted is None:
            wanted = tuple(name for name, is_possible in possible.items() if is_possible)
        for name in wanted:
            if not possible[name]:
                raise_impossible(self.trace, name)
        wanted = (*wanted, standing_placement(self.names, knows_places=possible["location"]))
        if "recorded" in wanted:
            refuse_strangers(self.trace, self._read(schema.CONNECTIONS), brokers)
        return tuple(name for name in possible if name in wanted)

    def _keep_placements(
        self, brokers: Brokers, timeline: Timeline, placements: Sequence[PlacementName]
    ) -> None:
        chosen, seed = self.parameters.placement, self.parameters.seed
        inputs = [replay_schema.INTERESTS.name]
        for table in (schema.VISITS, schema.CONNECTIONS, schema.BROKERS):
            if table is schema.CONNECTIONS and table.name in self.names:
                self._read(table)
            inputs += [table.name] if table.name in self.kept else []
        clusters = brokers.clusters(chosen.cluster_size, seed)
        degrees = self.parameters.interests.cell_degrees
        is_by_place = is_located(self.names, self.parameters)

        def placed(*frames: DataFrame) -> DataFrame:
            tables = dict(zip(inputs, frames, strict=True))
            interests = tables[replay_schema.INTERESTS.name]
            asked = asked_homes(interests, brokers, seed)
            seen = tables.get(schema.VISITS.name)
            homes = asked
            if seen is not None and brokers.coordinates is not None:
                homes = located_homes(seen, brokers, degrees)
                homes = homes if is_by_place else with_strangers(homes, asked)
            found = []
            if "recorded" in placements:
                on = tables[schema.CONNECTIONS.name].where("is_on")
                found.append(placed_at_homes(on, "recorded"))
            for name, where in (("static", asked), ("location", homes)):
                found += [placed_at_homes(where, name)] if name in placements else []
            chosen_methods = tuple(name for name in placements if name.startswith("similarity"))
            if chosen_methods:
                how = Selection(chosen_methods, brokers, clusters, chosen.rules(), seed)
                found.append(placed_by_similarity(interests, homes, timeline, how))
            return reduce(DataFrame.unionByName, found)

        self._keep(
            replay_schema.PLACEMENTS,
            placed,
            inputs,
            timeline=timeline,
            placements=placements,
            brokers=brokers.names,
            rules=chosen,
            seed=seed,
        )

    def _keep_broker_interests(self, timeline: Timeline) -> None:
        names = replay_schema
        self._keep(
            names.HOSTED_CHANGES, hosted_changes, [names.INTERESTS.name, names.PLACEMENTS.name]
        )
        self._keep(names.BROKER_CHANGES, broker_changes, [names.HOSTED_CHANGES.name])
        self._keep(
            names.BROKER_SPANS,
            lambda changes: broker_spans(changes, timeline),
            [names.BROKER_CHANGES.name],
            timeline=timeline,
        )
        self._keep(
            names.SNAPSHOTS,
            lambda spans, rates: snapshots(spans, rates, timeline),
            [names.BROKER_SPANS.name, names.RATES.name],
            timeline=timeline,
        )

    def _keep_entries(self, timeline: Timeline, placements: Sequence[PlacementName]) -> None:
        """Where publications enter, if they were recorded and are not to enter anywhere."""
        if schema.PUBLICATIONS.name not in self.names or not self.parameters.publications.placed:
            return
        inputs = [schema.PUBLICATIONS.name, replay_schema.PLACEMENTS.name]
        if schema.CONNECTIONS.name in self.names:
            self._read(schema.CONNECTIONS)
            inputs.append(schema.CONNECTIONS.name)
        self._keep(
            replay_schema.ENTRIES,
            lambda published, placed, connected=None: entries(
                published, placed, connected, timeline, placements
            ),
            inputs,
            timeline=timeline,
            placements=placements,
        )

    def _keep_replay(self, found: TraceReplay) -> None:
        names, timeline, brokers = replay_schema, found.timeline, found.brokers
        rules = msgspec.structs.replace(self.parameters.overlay.rules(), today=self.today)
        world = {"timeline": timeline, "placements": found.placements, "brokers": _told(brokers)}
        entries = [names.ENTRIES.name] if names.ENTRIES.name in self.kept else []
        self._keep(
            names.OVERLAYS,
            lambda snapshots, entries=None: overlays(
                snapshots,
                brokers,
                found.designs,
                rules,
                placements=found.placements,
                timeline=timeline,
                seed=self.parameters.seed,
                entries=entries,
            ),
            [names.SNAPSHOTS.name, *entries],
            **world,
            designs=found.designs,
            rules=rules,
            seed=self.parameters.seed,
        )
        inputs = [names.BROKER_SPANS, names.BROKER_CHANGES, names.RATES, names.OVERLAYS]
        self._keep(
            names.REPLAYED,
            lambda *frames: replayed(
                ReplayInputs(*frames),
                brokers,
                timeline,
                placements=found.placements,
                topics_at_once=self.parameters.work.topics_at_once,
            ),
            [*(table.name for table in inputs), *entries],
            **world,
        )
        self._keep_comparison(found)

    def _keep_comparison(self, found: TraceReplay) -> None:
        names, timeline = replay_schema, found.timeline
        chosen, seed = self.parameters.placement, self.parameters.seed
        exchanged = exchange_messages(found.brokers.clusters(chosen.cluster_size, seed))
        exchanges = {name: exchanged for name in found.placements if name.startswith("similarity")}
        inputs = (
            names.REPLAYED,
            names.OVERLAYS,
            names.PLACEMENTS,
            names.HOSTED_CHANGES,
            names.BROKER_CHANGES,
        )
        self._keep(
            names.METRICS,
            lambda *frames: metrics(Replayed(*frames), timeline, found.brokers.count, exchanges),
            [table.name for table in inputs],
            timeline=timeline,
            exchanges=exchanges,
        )
        warmup_slots = self.parameters.time.warmup_slots
        self._keep(
            names.COMPARISON,
            lambda metrics, overlays: comparison(metrics, overlays, warmup_slots=warmup_slots),
            [names.METRICS.name, names.OVERLAYS.name],
            warmup_slots=warmup_slots,
        )


def _told(brokers: Brokers) -> Settings:
    """What results depend on, in plain values."""
    return {
        "names": brokers.names,
        "coordinates": None if brokers.coordinates is None else brokers.coordinates.tolist(),
        "delays_ms": None if brokers.delays_ms is None else brokers.delays_ms.tolist(),
    }
