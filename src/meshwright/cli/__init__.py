"""The command line: parses, then calls one function."""
