"""Generated traces at any scale: the same seed gives the same rows on any number of executors."""
