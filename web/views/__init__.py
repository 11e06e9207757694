"""Views: from the service's rows to the context of a page, one module a page family."""
