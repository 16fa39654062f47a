"""Commands that run networks, simulated or live, and judge what clients saw."""
