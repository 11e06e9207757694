"""What can be said of a matrix, and done to it, before any format stores it: features, orders, other libraries."""
