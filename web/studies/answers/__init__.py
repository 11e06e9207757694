"""Answers of the pages of Explore: one module per study; pure, from Results."""
