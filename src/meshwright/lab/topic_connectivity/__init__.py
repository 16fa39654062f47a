"""Measures of topic-connected overlays: links, diameters, and what is cut when brokers die."""
