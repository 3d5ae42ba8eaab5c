include(CTest)
include(GNUInstallDirs)

option(DIFR_BUILD_GPU "Build the reference engines (needs LibTorch)" ON)
option(DIFR_BUILD_VIEWS "Build the window (needs Qt 6)" ON)
option(DIFR_CUDA "Build the CUDA kernels into the reference engines (needs nvcc)" OFF)
option(DIFR_BUILD_BENCH "Build the benchmarks" OFF)
option(DIFR_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
set(DIFR_SANITIZE "" CACHE STRING "Sanitizers for all targets, e.g. address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(DIFR_CCACHE ccache)
if(DIFR_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${DIFR_CCACHE}")
endif()
find_program(DIFR_MOLD mold)
if(DIFR_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
  add_link_options(-fuse-ld=mold)
endif()

# Applied per target, so that generated and third-party code is not held to our warnings.
function(difr_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi)
  if(DIFR_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
      # These flow-based warnings fire inside libstdc++'s own containers in g++ 12 and 13: shown, but no reason to stop.
      target_compile_options(${target} PRIVATE -Wno-error=stringop-overflow -Wno-error=stringop-overread
                             -Wno-error=array-bounds -Wno-error=restrict -Wno-error=maybe-uninitialized)
    endif()
  endif()
endfunction()

if(DIFR_SANITIZE)
  add_compile_options(-fsanitize=${DIFR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DIFR_SANITIZE})
endif()
