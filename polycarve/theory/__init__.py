"""What theory says about the number of regions: bounds, and networks that reach them."""

from polycarve.theory import bounds, networks

__all__ = ["bounds", "networks"]
