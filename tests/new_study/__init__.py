"""The smallest study that is one, outside of the product: what somebody writes who adds a study."""
