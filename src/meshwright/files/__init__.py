"""WHAT IS ON DISK: the documented files, read strictly, written whole or not at all."""
