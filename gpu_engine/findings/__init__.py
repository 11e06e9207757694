"""Findings: comparison groups, facts, sentences, and tables computed from the records of a study by pure functions.

Pages, terminals, the API, and the tables of documents show these texts unchanged.
"""
