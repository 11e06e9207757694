"""Matrices before conversion to a format: features, reorderings, and adapters for other libraries."""
