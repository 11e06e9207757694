/// y := α·s + β·y. With β = 0 y is not read, so that what it held before does not matter; s may be y then.
__global__ void scaled_sum(long long n, double alpha, const double *s, double beta, double *y) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = beta == 0.0 ? alpha * s[i] : alpha * s[i] + beta * y[i];
}
