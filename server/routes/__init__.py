"""One module a resource: parse, call, return."""
