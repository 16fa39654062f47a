"""Commands on files of interests and overlays: build, check, evaluate, draw."""
