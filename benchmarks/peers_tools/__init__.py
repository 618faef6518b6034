"""What `benchmarks/peers.py` is made of: networks, one file a tool, subprocesses, tables."""
