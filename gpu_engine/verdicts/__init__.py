"""What measured times allow to say of each other: verdicts, noise, and the differences of two jobs."""
