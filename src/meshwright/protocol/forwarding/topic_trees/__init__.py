"""Trees of topics on a geometry of keys or positions, held by demands."""
