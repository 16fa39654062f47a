"""Which plan is made of what was seen, and whether it is carried out by itself."""
