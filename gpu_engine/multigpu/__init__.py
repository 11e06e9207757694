"""One matrix over several devices: cut into parts of equal nonzeros, multiplied at once, merged.

partition.py: what a part is, PARTITIONINGS; cut.py: where to cut.
topology.py, numa.py: which device is near which memory.
base.py: what a device has to offer and computes; cpu_operations.py and cuda_operations.py compute it.
virtual.py: devices that are threads of this CPU; cuda_device.py: GPUs, cusparse_device.py: with a competitor's
products; device_group.py: all of a kind.
merge.py: from partial results to y. chunk.py, packed_stretches.py: entries as they are sent; from_host/: products that
send the matrix each time.
exchange.py: EXCHANGES, and what a device has of a vector; fetches.py: how that gets there; blocks.py: what it has of
the matrix; iteration.py: an iteration of these, replay.py: captured. On them resident.py: products iterated where the
vector lies; pagerank.py with shards.py: PageRank.
generated.py: a matrix that is nowhere whole.
workload.py, workloads.py, pagerank_workload.py: what studies/scaling measures.
cluster/ on placement.py: several hosts. Source: MSREP paper.
"""
