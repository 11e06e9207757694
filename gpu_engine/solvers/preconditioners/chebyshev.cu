/// r := v, d := factor·v, out := d.
__global__ void __launch_bounds__(256)
    polynomial_begin(int n, const double *__restrict__ v, double *__restrict__ r, double *__restrict__ d,
                     double *__restrict__ out, double, double factor) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  const double residual = v[row], direction = factor * residual;
  r[row] = residual, d[row] = direction, out[row] = direction;
}

/// r := r − q with q = A·d, the next direction d, and out := out + d.
__global__ void __launch_bounds__(256)
    polynomial_step(int n, const double *__restrict__ q, double *__restrict__ r, double *__restrict__ d,
                    double *__restrict__ out, double of_direction, double of_residual) {
  const int row = n - 1 - (blockIdx.x * blockDim.x + threadIdx.x);
  if (row < 0) return;
  const double residual = r[row] - q[row], direction = of_direction * d[row] + of_residual * residual;
  r[row] = residual, d[row] = direction, out[row] += direction;
}
