"""Runs one broker: hands it events, carries out its effects, keeps its timers."""
