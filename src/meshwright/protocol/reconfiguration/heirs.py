"""Who takes whose position when an overlay changes, and whether what is known there holds."""

from __future__ import annotations

from meshwright.model.overlay import Overlay

# Where more of the brokers move, building an overlay anew takes fewer messages.
MOVED_SHARE_MAX = 0.7
# Parameters that only say how an overlay was found.
NOTES = frozenset(("arrangement", "delay_weight"))


def heirs_of(source: Overlay, target: Overlay) -> dict[str, str]:
    """For each broker of an overlay the one that has its position in another.

    Where a design has no positions, everybody keeps its own place.
    """
    before, after = source.positions, target.positions
    if before is None or after is None:
        return {name: name for name in source.brokers}
    sitting = {position: name for name, position in after.items()}
    return {name: sitting[position] for name, position in before.items()}


def has_same_positions(source: Overlay, target: Overlay) -> bool:
    """Whether the same brokers have the same positions of the same design, in whatever order."""
    return (
        source.design == target.design
        and sorted(source.brokers) == sorted(target.brokers)
        and sorted((source.positions or {}).values()) == sorted((target.positions or {}).values())
    )


def is_worth_carrying(source: Overlay, target: Overlay) -> bool:
    """Whether taking over what is known saves messages against building an overlay anew."""
    noted = [
        {name: value for name, value in overlay.params.items() if name not in NOTES}
        for overlay in (source, target)
    ]
    if not has_same_positions(source, target) or noted[0] != noted[1]:
        return False
    moved_count = sum(name != heir for name, heir in heirs_of(source, target).items())
    return moved_count <= MOVED_SHARE_MAX * len(source.brokers)
