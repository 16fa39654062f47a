"""A broker's disk: storage in a file or in memory, and the room there is for it."""
