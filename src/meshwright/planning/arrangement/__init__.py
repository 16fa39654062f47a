"""Which broker sits at which position of a key geometry, so that topic trees cost least."""
