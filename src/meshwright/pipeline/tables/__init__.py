"""Tables of a trace as Spark and Arrow have them, checked value by value."""
