"""OURS BESIDE THE PAPERS': what each change of ours to their methods gains, and what it costs."""
