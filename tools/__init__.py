"""What is run by hand or by make, and ships with no release."""
