"""The HTTP service, its database and its jobs."""
