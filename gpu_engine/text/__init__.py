"""Text of numbers, tables, and parameters, independent of their meaning."""
