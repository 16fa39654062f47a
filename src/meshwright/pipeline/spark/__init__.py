"""How Spark starts, ships our code, tells of its jobs, and ends."""
