"""Kills parts of the service at random, again and again, under a queue of real jobs, and checks the books."""
