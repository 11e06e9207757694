"""CUDA sources beside Python: load.py is the only place that compiles, and every header lies here.

common.cuh    what every kernel may use: warps, sums over lanes, loads that pass the caches by
rows.cuh      the row of an entry
slots.cuh     sums of a row over slots stored column by column, as of ELL
tiles.cuh     products of the tiles that gpu_engine/formats/tiles.py cuts
batch.cuh     x of a problem in shared memory, for blocks that have a problem each
packed.cuh    columns and values as gpu_engine/formats/packing.py packs them
segments.cuh  loads and stores of values in segments, as gpu_engine/cpms/layout.py places them
"""
