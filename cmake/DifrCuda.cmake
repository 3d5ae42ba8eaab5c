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
  set(architectures ${DIFR_CUDA_ARCHITECTURES})
  if(NOT architectures)
    execute_process(COMMAND "${DIFR_NVCC}" --list-gpu-arch OUTPUT_VARIABLE known)
    foreach(arch IN ITEMS 80 90 100)
      if(known MATCHES "compute_${arch}")
        list(APPEND architectures ${arch})
      endif()
    endforeach()
  endif()
  set(DIFR_NVCC_GENCODE)
  foreach(arch IN LISTS architectures)
    list(APPEND DIFR_NVCC_GENCODE -gencode "arch=compute_${arch},code=sm_${arch}")
  endforeach()
  # Later devices compile the newest one's PTX for themselves.
  list(GET architectures -1 newest)
  list(APPEND DIFR_NVCC_GENCODE -gencode "arch=compute_${newest},code=compute_${newest}")
  find_package(CUDAToolkit REQUIRED)
endif()

# Compiles a .cu file of the current folder and hands its object to `target`. Not by way of enable_language(CUDA): CMake
# 3.25 does not know how to ask nvcc 13 for C++20, and LibTorch rewrites that language's settings.
function(difr_cuda_object target source)
  get_filename_component(stem "${source}" NAME_WE)
  set(object "${CMAKE_CURRENT_BINARY_DIR}/${stem}.cu.o")
  add_custom_command(OUTPUT "${object}"
    COMMAND "${DIFR_NVCC}" -ccbin "${CMAKE_CXX_COMPILER}" -std=c++20 -O3 -Xcompiler=-fPIC ${DIFR_NVCC_OPTIONS}
      ${DIFR_NVCC_GENCODE} "-I${CMAKE_SOURCE_DIR}" -MD -MT "${object}" -MF "${object}.d"
      -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${object}"
    DEPENDS "${source}" DEPFILE "${object}.d" VERBATIM COMMENT "Building CUDA object ${source}")
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${target} PRIVATE "${object}")
endfunction()
