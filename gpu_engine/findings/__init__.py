"""Findings: from the records of a study to groups that may be compared, facts, sentences and tables; pure functions.

Pages, terminals, the API and the tables of documents say what stands here, in the words that stand here.
"""
