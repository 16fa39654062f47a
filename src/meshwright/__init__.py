"""Meshwright: an MQTT broker network that redraws itself."""

__version__ = "0.1.0"
