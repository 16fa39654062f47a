from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples on every machine: a failure seen once is seen by everybody.
# The first example of a test may compile a kernel, so no example has a deadline.
settings.register_profile(
    "replayable",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("replayable")
