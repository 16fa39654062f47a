"""A tour of the designs: one generated network, every design, and a picture of before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from meshwright.files.overlays import write_overlay
from meshwright.files.snapshots import write_snapshot
from meshwright.files.writing import make_folder
from meshwright.lab.carried import Carried, carried_on_geometry, carried_on_tree
from meshwright.lab.comparison import Timed, planned
from meshwright.lab.figures.before_after import Pair, Panel, draw_pairs
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import candidates
from meshwright.model.snapshot import Snapshot
from meshwright.planning.evaluation.evaluate import node_degrees
from meshwright.planning.recommendation import Candidate, Wish

BROKER_COUNT = 100
TOPIC_COUNT = 60
TOPICS_PER_BROKER = 12
PUBLICATIONS_PER_TOPIC = 200.0
WISH = Wish(k=2)


def tour_snapshot(seed: int) -> Snapshot:
    """Brokers that care for a few kinds of topics each, so that it matters who sits where."""
    return generate_snapshot(
        BROKER_COUNT,
        TOPIC_COUNT,
        TOPICS_PER_BROKER,
        "multimodal",
        seed=seed,
        publications_per_topic=PUBLICATIONS_PER_TOPIC,
    )


def plan_tour(snapshot: Snapshot, seed: int) -> Iterator[Timed]:
    """Every design in turn, as many as there are candidates."""
    return planned(candidates(), snapshot, WISH, seed=seed)


def write_network(snapshot: Snapshot, rows: Sequence[Timed], folder: Path) -> dict[str, Path]:
    """The network and every overlay as files, by what they are."""
    interests_path, rates_path = write_snapshot(snapshot, folder)
    overlays = make_folder(folder / "overlays")
    for row in rows:
        write_overlay(row.candidate.overlay, overlays / f"{row.candidate.name}.json")
    return {"interests": interests_path, "rates": rates_path, "overlays": overlays}


def draw_tour(
    snapshot: Snapshot, rows: Sequence[Timed], folder: Path, seed: int
) -> dict[str, Path]:
    """Before and after as a picture for the screen and one that can be scaled."""
    pairs = _pairs({row.candidate.name: row.candidate for row in rows}, snapshot)
    title = f"{len(snapshot.brokers)} brokers, {len(snapshot.topics)} topics: before and after"
    pictures = {"picture": folder / "before-after.svg", "bitmap": folder / "before-after.png"}
    for path in pictures.values():
        draw_pairs(pairs, title, path, seed=seed)
    return pictures


def _pairs(candidates: dict[str, Candidate], snapshot: Snapshot) -> list[Pair]:
    """One pair for each kind of planning: arrangement, topic-connected links, tree adaptation."""
    return [
        Pair(
            "messages relayed by a broker that does not want them",
            _loaded("Chord, brokers by hash", candidates["chord"], snapshot, carried_on_geometry),
            _loaded(
                "Chord, brokers arranged (best)",
                candidates["dynatops"],
                snapshot,
                carried_on_geometry,
            ),
        ),
        Pair(
            "links of a broker",
            _linked("GM2, the paper's links", candidates["gm2"]),
            _linked("Our own links (best)", candidates["best"]),
        ),
        Pair(
            "messages relayed by a broker that does not want them",
            _loaded("A regular tree", candidates["tree"], snapshot, carried_on_tree),
            _loaded(
                "The tree adapted to its traffic", candidates["ocbr"], snapshot, carried_on_tree
            ),
        ),
    ]


def _loaded(
    title: str,
    found: Candidate,
    snapshot: Snapshot,
    carried: Callable[..., Carried],
) -> Panel:
    """A panel that shows where messages go and who relays them."""
    load = carried(found.overlay, snapshot)
    numbers = found.evaluation
    caption = (
        f"{numbers.messages_external:,.0f} unwanted messages; "
        f"{numbers.delay_hops_mean:.1f} hops of delay; {numbers.degree_max} links at most"
    )
    return Panel(title, caption, found.overlay, load.relayed, load.links)


def _linked(title: str, found: Candidate) -> Panel:
    """A panel that shows how many links brokers have."""
    numbers = found.evaluation
    caption = (
        f"k = {numbers.k_held} held; {numbers.degree_mean:.1f} links a broker, "
        f"{numbers.degree_max} at most; topic diameter {numbers.diameter_mean:.1f}"
    )
    return Panel(title, caption, found.overlay, node_degrees(found.overlay).astype(float))
