"""Random kills of service parts under a queue of real jobs, followed by consistency checks."""
