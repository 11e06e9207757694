"""Figures of the `seeded` study."""
