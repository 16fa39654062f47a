"""overlay.json: how brokers are joined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from meshwright.errors import OverlayError
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
    with blamed(document):
        check_tree(overlay)
    return overlay


def write_overlay(overlay: Overlay, path: str | Path, *, is_private: bool = False) -> None:
    """The overlay as a file, whole or not at all; private: for its owner alone."""
    write_whole({Path(path): document_bytes(overlay)}, is_private=is_private)


def checked_overlay(document: Document) -> Overlay:
    """The overlay that a document is, checked."""
    overlay = document.decoded(Overlay, {(): OVERLAY_VERSION})
    with blamed(document):
        check_standing(overlay)
    return overlay


@contextmanager
def blamed(document: Document, place: Place = ()) -> Iterator[None]:
    """Point at the line of the document, where an overlay at a place of it is refused."""
    try:
        yield
    except OverlayError as error:
        raise document.fault((*place, *error.place), error.problem, error.remedy) from None


def check_standing(overlay: Overlay) -> None:
    """Refuse an overlay that brokers cannot stand on: it contradicts itself, or is no tree."""
    check_overlay(overlay)
    if DESIGNS[overlay.design].geometry == "tree":
        check_tree(overlay)


def check_overlay(overlay: Overlay) -> None:
    """Refuse an overlay that contradicts itself."""
    _check_design(overlay)
    _check_brokers(overlay)
    _check_links(overlay)
    _check_positions(overlay)


def check_tree(overlay: Overlay) -> None:
    """Refuse an overlay that has a cycle or falls apart."""
    groups = {name: [name] for name in overlay.brokers}
    for index, (one, other) in enumerate(overlay.links):
        larger, smaller = sorted((groups[one], groups[other]), key=len, reverse=True)
        if larger is smaller:
            raise OverlayError(
                ("links", index),
                f"the link of {one!r} and {other!r} closes a cycle",
                "a tree, as bridges make one, has exactly one way from each broker to each other",
            )
        larger.extend(smaller)
        groups.update(dict.fromkeys(smaller, larger))
    first = groups[overlay.brokers[0]]
    if len(first) < len(groups):
        stray = next(name for name in overlay.brokers if groups[name] is not first)
        raise OverlayError(
            ("links",),
            f"no links lead from {overlay.brokers[0]!r} to {stray!r}",
            "a tree joins all its brokers",
        )


def _check_design(overlay: Overlay) -> None:
    here, row = ("design",), DESIGNS.get(overlay.design)
    if row is None:
        known = [name for name, one in DESIGNS.items() if one.base is None]
        raise OverlayError(
            here, f"there is no design {overlay.design!r}", f"choose one of {', '.join(known)}"
        )
    if row.base is not None:
        raise OverlayError(
            here,
            f"overlays of {overlay.design} are of the design {row.base!r}",
            f"name that, with the parameters {msgspec.json.encode(row.given).decode()}",
        )


def _check_brokers(overlay: Overlay) -> None:
    seen: set[str] = set()
    for index, name in enumerate(overlay.brokers):
        here = ("brokers", index)
        if (fault := name_fault(name)) is not None:
            raise OverlayError(
                here, f"the broker name {name!r} {fault}", "give the broker a plain name"
            )
        if name in seen:
            raise OverlayError(here, f"broker {name!r} is named twice", "name each broker once")
        seen.add(name)
    if len(seen) < 2:
        raise OverlayError(
            ("brokers",),
            f"the overlay has {'only one broker' if seen else 'no brokers'}",
            "an overlay needs at least two",
        )


def _check_links(overlay: Overlay) -> None:
    known = set(overlay.brokers)
    seen: set[tuple[str, str]] = set()
    for index, (one, other) in enumerate(overlay.links):
        here = ("links", index)
        for name in (one, other):
            if name not in known:
                raise OverlayError(
                    here,
                    f"the link names an unknown broker {name!r}",
                    "list it under brokers, or remove the link",
                )
        if one == other:
            raise OverlayError(here, f"{one!r} is linked to itself", "remove the link")
        ends = (min(one, other), max(one, other))
        if ends in seen:
            raise OverlayError(
                here, f"{one!r} and {other!r} are linked twice", "remove one of the two links"
            )
        seen.add(ends)


def _check_positions(overlay: Overlay) -> None:
    if overlay.positions is None:
        return
    known = set(overlay.brokers)
    holders: dict[int, str] = {}
    for name, position in overlay.positions.items():
        here = ("positions", name)
        if name not in known:
            raise OverlayError(
                here, f"a position is given to an unknown broker {name!r}", "remove it"
            )
        if not 0 <= position < POSITION_LIMIT:
            raise OverlayError(
                here,
                f"position {position} of {name!r} is not an identifier",
                "give a whole number of zero or more",
            )
        if position in holders:
            raise OverlayError(
                here,
                f"{holders[position]!r} and {name!r} share position {position}",
                "give each broker its own",
            )
        holders[position] = name
    for name in overlay.brokers:
        if name not in overlay.positions:
            raise OverlayError(
                ("positions",),
                f"broker {name!r} has no position",
                "give every broker one, or null for all",
            )
