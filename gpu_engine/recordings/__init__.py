"""Recordings: results of devices that are not here, as files; and matrices by the names that files give them."""
