"""Meshwright: an MQTT broker network that redraws itself.

As a library: read a network, build, evaluate, compare, plan and draw; docs/API.md has them all.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # nothing is loaded here, so that a command can be stopped from its start
    from typing import Any

__version__ = "0.1.0"

# Each verb and the module that has it, which is loaded when the verb is first used.
LIBRARY = {
    "Comparison": "meshwright.library.advice",
    "PriceWeights": "meshwright.model.price",
    "build": "meshwright.library.advice",
    "compare": "meshwright.library.advice",
    "draw": "meshwright.library.advice",
    "evaluate": "meshwright.library.advice",
    "from_networkx": "meshwright.library.graphs",
    "network_from_frames": "meshwright.library.networks",
    "network_to_frames": "meshwright.library.networks",
    "plan": "meshwright.library.advice",
    "read_network": "meshwright.library.networks",
    "read_overlay": "meshwright.files.overlays",
    "read_plan": "meshwright.files.plans",
    "to_networkx": "meshwright.library.graphs",
    "told_worth": "meshwright.model.plan",
    "write_overlay": "meshwright.files.overlays",
    "write_plan": "meshwright.files.plans",
}


def __getattr__(name: str) -> Any:
    if name not in LIBRARY:
        raise AttributeError(f"module 'meshwright' has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(LIBRARY[name]), name)
    opened = import_module("meshwright.library.door").opened(found)
    globals()[name] = opened  # the same at every look
    return opened


def __dir__() -> list[str]:
    return sorted({*globals(), *LIBRARY})
