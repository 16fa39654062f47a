"""A trace replayed in one process: model_replay(model, parameters) in replaying.py.

It finds what the replay on Spark finds, figure by figure, and runs inside one task of a sweep.
"""
