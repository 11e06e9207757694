"""Histories: the measurements of a case over time, where its time changed, and what changed underneath; pure."""
