"""Telemetry as it comes: rates and interests as state, and a plan when a period is over."""
