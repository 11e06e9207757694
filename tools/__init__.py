"""Tools run by hand or by make, which are not part of a release."""
