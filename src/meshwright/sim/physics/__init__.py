"""Time, chance, wires and disks: what a real machine would give."""
