"""Heirs: which broker takes whose position in a new overlay, and whether to pass tables on."""

from __future__ import annotations

from meshwright.model.overlay import Overlay

# If a larger share of brokers change positions, building anew takes fewer messages.
MOVED_SHARE_MAX = 0.7
# Parameters that only say how the planner found an overlay.
NOTES = frozenset(("arrangement", "delay_weight"))


def heirs_of(source: Overlay, target: Overlay) -> dict[str, str]:
    """For each broker of the source overlay, the broker that has its position in the target.

    In a design without positions each broker is its own heir.
    """
    before, after = source.positions, target.positions
    if before is None or after is None:
        return {name: name for name in source.brokers}
    sitting = {position: name for name, position in after.items()}
    return {name: sitting[position] for name, position in before.items()}


def has_same_positions(source: Overlay, target: Overlay) -> bool:
    """True if both overlays have the same design, brokers and positions, in whatever order."""
    return (
        source.design == target.design
        and sorted(source.brokers) == sorted(target.brokers)
        and sorted((source.positions or {}).values()) == sorted((target.positions or {}).values())
    )


def is_worth_carrying(source: Overlay, target: Overlay) -> bool:
    """True if passing on forwarding tables takes fewer messages than building anew."""
    noted = [
        {name: value for name, value in overlay.params.items() if name not in NOTES}
        for overlay in (source, target)
    ]
    if not has_same_positions(source, target) or noted[0] != noted[1]:
        return False
    moved_count = sum(name != heir for name, heir in heirs_of(source, target).items())
    return moved_count <= MOVED_SHARE_MAX * len(source.brokers)
