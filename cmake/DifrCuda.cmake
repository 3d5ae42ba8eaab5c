# The scoring kernels. nvcc is optional: it is looked for whatever DIFR_CUDA says, because a test compiles the kernels
# where it can.
find_program(DIFR_NVCC nvcc HINTS "$ENV{CUDA_PATH}/bin" "$ENV{CUDA_HOME}/bin" /usr/local/cuda/bin)

# The hashes are core's constexpr functions. Contracted multiplications would round fp32 noise differently from the
# engines that it must equal bit for bit.
set(DIFR_NVCC_OPTIONS --expt-relaxed-constexpr -fmad=false -Werror=all-warnings -Xcompiler=-Wall,-Wextra)
if(DIFR_WARNINGS_AS_ERRORS)
  list(APPEND DIFR_NVCC_OPTIONS -Xcompiler=-Werror)
endif()

if(DIFR_CUDA)
  if(NOT DIFR_NVCC)
    message(FATAL_ERROR "DIFR_CUDA needs nvcc: install the CUDA Toolkit, or put nvcc into PATH")
  endif()
  set(DIFR_CUDA_ARCHITECTURES "" CACHE STRING "Compute capabilities, e.g. 80;90; empty: those of 80, 90, 100 nvcc knows")
  if(NOT DIFR_CUDA_ARCHITECTURES)
    execute_process(COMMAND "${DIFR_NVCC}" --list-gpu-arch OUTPUT_VARIABLE known)
    foreach(arch IN ITEMS 80 90 100)
      if(known MATCHES "compute_${arch}")
        list(APPEND DIFR_CUDA_ARCHITECTURES ${arch})
      endif()
    endforeach()
  endif()
  # LibTorch may have switched the global list off; the kernels' own target sets its list. CMake only wants one to try
  # the compiler with.
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER "${DIFR_NVCC}")
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${DIFR_CUDA_ARCHITECTURES})
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
endif()
