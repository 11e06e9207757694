"""Access tests: the parts of a running service that other users and addresses can reach."""
