"""overlay.json: how brokers are joined."""

from __future__ import annotations

from pathlib import Path

import msgspec

from meshwright.files.documents import Document, Place, document_bytes
from meshwright.files.reading import name_fault
from meshwright.files.writing import write_whole
from meshwright.model.designs import DESIGNS
from meshwright.model.overlay import OVERLAY_VERSION, Overlay

POSITION_LIMIT = 2**63


def read_overlay(path: str | Path) -> Overlay:
    """The overlay of a file, checked: every link and position belongs to its brokers."""
    return checked_overlay(Document(Path(path)))


def read_tree(path: Path) -> Overlay:
    """The overlay of a file, checked to join all its brokers without a cycle."""
    document = Document(path)
    overlay = checked_overlay(document)
    check_tree(document, overlay)
    return overlay


def write_overlay(overlay: Overlay, path: str | Path, *, is_private: bool = False) -> None:
    """The overlay as a file, whole or not at all; private: for its owner alone."""
    write_whole({Path(path): document_bytes(overlay)}, is_private=is_private)


def checked_overlay(document: Document) -> Overlay:
    """The overlay that a document is, checked."""
    overlay = document.decoded(Overlay, {(): OVERLAY_VERSION})
    check_overlay(document, overlay)
    return overlay


def check_overlay(document: Document, overlay: Overlay, place: Place = ()) -> None:
    """Refuse an overlay, standing at a place of a document, that contradicts itself."""
    _check_design(document, overlay, place)
    _check_brokers(document, overlay, place)
    _check_links(document, overlay, place)
    _check_positions(document, overlay, place)


def check_tree(document: Document, overlay: Overlay, place: Place = ()) -> None:
    """Refuse an overlay, standing at a place of a document, that has a cycle or falls apart."""
    groups = {name: [name] for name in overlay.brokers}
    for index, (one, other) in enumerate(overlay.links):
        larger, smaller = sorted((groups[one], groups[other]), key=len, reverse=True)
        if larger is smaller:
            raise document.fault(
                (*place, "links", index),
                f"the link of {one!r} and {other!r} closes a cycle",
                "a tree, as bridges make one, has exactly one way from each broker to each other",
            )
        larger.extend(smaller)
        groups.update(dict.fromkeys(smaller, larger))
    first = groups[overlay.brokers[0]]
    if len(first) < len(groups):
        stray = next(name for name in overlay.brokers if groups[name] is not first)
        raise document.fault(
            (*place, "links"),
            f"no links lead from {overlay.brokers[0]!r} to {stray!r}",
            "a tree joins all its brokers",
        )


def _check_design(document: Document, overlay: Overlay, place: Place) -> None:
    here, row = (*place, "design"), DESIGNS.get(overlay.design)
    if row is None:
        known = [name for name, one in DESIGNS.items() if one.base is None]
        raise document.fault(
            here, f"there is no design {overlay.design!r}", f"choose one of {', '.join(known)}"
        )
    if row.base is not None:
        raise document.fault(
            here,
            f"overlays of {overlay.design} are of the design {row.base!r}",
            f"name that, with the parameters {msgspec.json.encode(row.given).decode()}",
        )


def _check_brokers(document: Document, overlay: Overlay, place: Place) -> None:
    seen: set[str] = set()
    for index, name in enumerate(overlay.brokers):
        here = (*place, "brokers", index)
        if (fault := name_fault(name)) is not None:
            raise document.fault(
                here, f"the broker name {name!r} {fault}", "give the broker a plain name"
            )
        if name in seen:
            raise document.fault(here, f"broker {name!r} is named twice", "name each broker once")
        seen.add(name)
    if len(seen) < 2:
        raise document.fault(
            (*place, "brokers"),
            f"the overlay has {'only one broker' if seen else 'no brokers'}",
            "an overlay needs at least two",
        )


def _check_links(document: Document, overlay: Overlay, place: Place) -> None:
    known = set(overlay.brokers)
    seen: set[tuple[str, str]] = set()
    for index, (one, other) in enumerate(overlay.links):
        here = (*place, "links", index)
        for name in (one, other):
            if name not in known:
                raise document.fault(
                    here,
                    f"the link names an unknown broker {name!r}",
                    "list it under brokers, or remove the link",
                )
        if one == other:
            raise document.fault(here, f"{one!r} is linked to itself", "remove the link")
        ends = (min(one, other), max(one, other))
        if ends in seen:
            raise document.fault(
                here, f"{one!r} and {other!r} are linked twice", "remove one of the two links"
            )
        seen.add(ends)


def _check_positions(document: Document, overlay: Overlay, place: Place) -> None:
    if overlay.positions is None:
        return
    known = set(overlay.brokers)
    holders: dict[int, str] = {}
    for name, position in overlay.positions.items():
        here = (*place, "positions", name)
        if name not in known:
            raise document.fault(
                here, f"a position is given to an unknown broker {name!r}", "remove it"
            )
        if not 0 <= position < POSITION_LIMIT:
            raise document.fault(
                here,
                f"position {position} of {name!r} is not an identifier",
                "give a whole number of zero or more",
            )
        if position in holders:
            raise document.fault(
                here,
                f"{holders[position]!r} and {name!r} share position {position}",
                "give each broker its own",
            )
        holders[position] = name
    for name in overlay.brokers:
        if name not in overlay.positions:
            raise document.fault(
                (*place, "positions"),
                f"broker {name!r} has no position",
                "give every broker one, or null for all",
            )
