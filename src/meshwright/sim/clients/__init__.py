"""Clients that keep to MQTT: sessions, acknowledgements, wills."""
