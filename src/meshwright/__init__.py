"""Meshwright: an MQTT broker network that redraws itself."""

from meshwright import kernel_cache

__version__ = "0.1.0"

kernel_cache.choose_folder()
