"""A replay in one process with pandas and NumPy: what Spark adds to it, and whether it is right."""
