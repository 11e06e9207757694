"""Pages and figures over the service's records."""
