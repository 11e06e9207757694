"""Sparsight's public face: the client of a running server. The command line is `sparsight`."""

from sparsight.client import Client

__all__ = ["Client"]
