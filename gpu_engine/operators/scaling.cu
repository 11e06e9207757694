/// y := α·s + β·y. With β = 0, where s may be y, only s is read.
__global__ void scaled_sum(long long n, double alpha, const double *s, double beta, double *y) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = beta == 0.0 ? alpha * s[i] : alpha * s[i] + beta * y[i];
}
