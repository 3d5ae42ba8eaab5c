#!/bin/sh
# Compiles the CUDA sources for every architecture that is supported. Exit code 77: no nvcc, nothing was checked.
#   compile_kernels.sh NVCC SOURCE_DIR SCRATCH_DIR HOST_COMPILER FLAGS...
nvcc=$1 source=$2 scratch=$3 host=$4
shift 4
if [ ! -x "$nvcc" ]; then
  echo "no nvcc on this machine: the kernels were not compiled"
  exit 77
fi
mkdir -p "$scratch" || exit 1
for arch in 80 90 100; do
  echo "sm_$arch: fused_kernels.cu"
  "$nvcc" -ccbin "$host" "$@" -I"$source" -gencode "arch=compute_$arch,code=sm_$arch" \
    -c "$source/gpu/kernels/fused_kernels.cu" -o "$scratch/fused_kernels.sm_$arch.o" || exit 1
done
echo "host: cuda_backend.cpp"
"$nvcc" -ccbin "$host" "$@" -DDIFR_CUDA -I"$source" -c "$source/gpu/kernels/cuda_backend.cpp" \
  -o "$scratch/cuda_backend.o" || exit 1
