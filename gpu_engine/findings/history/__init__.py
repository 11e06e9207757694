"""Histories: measurements of a case over time, its change points, and changes of the environment; pure functions."""
