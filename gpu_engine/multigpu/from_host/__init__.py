"""Products that send the matrix to the devices each time.

strategies.py: STRATEGIES; spmv.py: the product that the paper's share.
chunks.py: that of ours, on packer.py (what is sent) and device_chunks.py (what a device does with it).
links.py: how fast it can be.
"""
