"""What of a running service other users and other addresses reach."""
