"""Meshwright as a library: the few verbs that `import meshwright` gives."""
