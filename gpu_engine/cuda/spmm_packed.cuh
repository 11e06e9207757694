#pragma once
#include "packed.cuh"
#include "spmm.cuh"

/// Packed entries of a part, with 16-bit columns if `T` is unsigned short.
template <typename T, int BYTES> struct PartEntries {
  const Packed<BYTES> &packed;
  const T *__restrict__ columns;
  int base;

  __device__ __forceinline__ long long column(long long entry) const { return base + (int)stream(columns + entry); }
  __device__ __forceinline__ double value(long long entry) const { return packed.value(entry); }
};
