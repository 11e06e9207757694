"""Views: contexts of pages from rows of the database, one module per family of pages."""
