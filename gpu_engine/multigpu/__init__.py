"""Multi-GPU SpMV, PageRank, and CG: one matrix, partitioned over several devices of one host or of a cluster.

Map of the package, in reading order.

Partitions
  partition.py       PARTITIONINGS (pCSR, pCSC, pCOO), and Span and Part, the data of one device
  cut.py             borders of the partitions: equal nonzeros, or equal rows or columns
Devices
  base.py            Device and Operations, the contract of a device and of what it computes
  virtual.py         simulated devices: CPU threads; cpu_operations.py, cpu_chunks.py: their operations
  cuda_device.py     GPUs; cuda_operations.py, cuda_chunks.py: their operations; cusparse_device.py: with cuSPARSE
  device_group.py    opens all devices of a study
  topology.py        NUMA nodes of the devices; numa.py: host memory and threads on these nodes
SpMV from host memory (workload cold)
  from_host/         STRATEGIES of the MSREP paper and of Sparsight; read strategies.py, spmv.py, chunks.py
  chunk.py           nonzeros in the form in which they are sent; chunk_packing.py: loops that compress them
  merge.py           MERGES: from partial results to y
Data on the devices (workloads resident, iterate)
  exchange.py        EXCHANGES: the halo of a device, and the transfers of an exchange
  peer_copies.py     carries out these transfers between devices of one process
  blocks.py          diagonal and off-diagonal block of a partition
  iteration.py       one iteration: exchange and SpMVs, overlapped; replay.py: as CUDA graphs
  resident.py        x := A·x repeatedly, or X := A·X for several columns
  generated.py       matrices that the devices generate themselves
PageRank (workload pagerank)
  graph_shards.py    pages, links, and ranks of one device
  rank_state.py      the run of PageRank over shards; pagerank.py: on the devices of one process
CG (workload solve)
  solve_run.py       the solve until the true residual is small enough
  solve_part.py      vectors of one device; cpu_solve.py, cuda_solve.py: its steps
  solve.py           on the devices of one process
Measuring
  workload.py        Setting and the data of a workload; workloads.py: WORKLOADS, with
                     pagerank_workload.py and solve_workload.py; sampler.py: times of iterations
Several hosts
  placement.py       device slots of a Ray cluster
  cluster/           actors of Ray, one per device, and TRANSPORTS between them

Source: MSREP paper; CPMS PageRank paper for ranks in segments.
"""
