"""Pictures of overlays and results: the only place that knows Matplotlib."""
