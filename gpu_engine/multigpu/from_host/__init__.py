"""SpMV from host memory: every SpMV sends the matrix to the devices.

strategies.py        STRATEGIES; spmv.py: the SpMV of the strategies of the paper
chunks.py            SpMV in chunks; packer.py: compresses them, device_chunks.py: what a device does with them
link_bandwidth.py    lower bounds of the phases
"""
