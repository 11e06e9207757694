"""Numbers and tables as people read them: knows nothing of what it is given."""
