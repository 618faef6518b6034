"""The function: a piecewise-linear network as frozen data, and the formats it is read from."""

from polycarve.networks.activation import RELU, Activation
from polycarve.networks.network import Layer, Network, as_network

__all__ = ["RELU", "Activation", "Layer", "Network", "as_network"]
