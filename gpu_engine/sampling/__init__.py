"""The one measuring engine: what a study measures of a matrix, in which rounds, and when that is enough."""
