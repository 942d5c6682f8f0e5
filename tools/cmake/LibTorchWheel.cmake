# LibTorch as it comes in the Python wheel, by imported targets of our own: find_package(Torch)
# wants nvcc and a whole CUDA toolkit, of which nothing here is needed.
#
#   ddpprof::torch_cpu    c10 and torch_cpu (libtorch.so holds nothing, but would load all of CUDA)
#   ddpprof::torch_cuda   torch_cpu and c10_cuda, torch_cuda, cudart, nccl, cupti, nvtx; exists only
#                         when DDPPROF_HAS_CUDA is true
#   ddpprof::cupti, ddpprof::cudart, ddpprof::nvtx    also without the CUDA half, when their headers
#                         are there: programs that link CUPTI start without a GPU and say so
#
# Where: DDPPROF_TORCH (cache variable, else environment), a site-packages folder or the torch folder
# in it; without it, what tools/setup has put into the cache.
# Sets: DDPPROF_HAS_CUDA, DDPPROF_CUDA_STATE (a sentence), DDPPROF_SITE_PACKAGES, DDPPROF_TORCH_VERSION.

set(DDPPROF_TORCH "" CACHE PATH "site-packages folder with torch 2.11 (empty: what tools/setup brought)")
include(LibTorchFind)

ddpprof_find_site_packages()
ddpprof_check_torch_version()

set(torch_include ${DDPPROF_SITE_PACKAGES}/torch/include)
set(torch_lib ${DDPPROF_SITE_PACKAGES}/torch/lib)
set(cuda_include ${DDPPROF_SITE_PACKAGES}/nvidia/cu13/include)
set(cuda_lib ${DDPPROF_SITE_PACKAGES}/nvidia/cu13/lib)
set(nccl_include ${DDPPROF_SITE_PACKAGES}/nvidia/nccl/include)
set(nccl_lib ${DDPPROF_SITE_PACKAGES}/nvidia/nccl/lib)

# The include folders of imported targets are SYSTEM: warnings inside them are not ours. CMake puts
# the folder of each library into the program's run path; --disable-new-dtags makes that DT_RPATH,
# which comes before LD_LIBRARY_PATH. Otherwise the CUPTI of a toolkit on the machine is loaded beside
# LibTorch's, and two of them crash.
function(ddpprof_import name library)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "INCLUDE")
  add_library(ddpprof::${name} SHARED IMPORTED)
  set_target_properties(ddpprof::${name} PROPERTIES
    IMPORTED_LOCATION ${library}
    INTERFACE_INCLUDE_DIRECTORIES "${arg_INCLUDE}"
    INTERFACE_LINK_OPTIONS LINKER:--disable-new-dtags)
endfunction()

foreach(name c10 torch_cpu)
  if(NOT EXISTS ${torch_lib}/lib${name}.so)
    message(FATAL_ERROR "ddpprof: ${torch_lib}/lib${name}.so: not found\n"
                        "  hint: run tools/setup, or set DDPPROF_TORCH to a whole site-packages folder")
  endif()
  ddpprof_import(lib${name} ${torch_lib}/lib${name}.so)
endforeach()

# USE_*: without them the c10d headers are empty. --no-as-needed: registration happens in static
# initialisers, which the linker does not see as a use.
add_library(ddpprof::torch_cpu INTERFACE IMPORTED)
target_include_directories(ddpprof::torch_cpu INTERFACE
  ${torch_include} ${torch_include}/torch/csrc/api/include)
target_compile_definitions(ddpprof::torch_cpu INTERFACE
  USE_DISTRIBUTED USE_C10D_GLOO USE_RPC USE_TENSORPIPE _GLIBCXX_USE_CXX11_ABI=1)
target_link_libraries(ddpprof::torch_cpu INTERFACE
  ddpprof::libtorch_cpu ddpprof::libc10 Threads::Threads)
target_link_options(ddpprof::torch_cpu INTERFACE LINKER:--no-as-needed)

# Parts of CUDA that are there with the CPU half too.
if(EXISTS ${cuda_lib}/libcudart.so.13 AND EXISTS ${cuda_include}/crt/host_defines.h)
  ddpprof_import(cudart ${cuda_lib}/libcudart.so.13 INCLUDE ${cuda_include})
  if(EXISTS ${cuda_lib}/libcupti.so.13 AND EXISTS ${cuda_include}/cupti.h)
    ddpprof_import(cupti ${cuda_lib}/libcupti.so.13 INCLUDE ${cuda_include})
  endif()
endif()
if(EXISTS ${cuda_include}/nvtx3/nvToolsExt.h)
  add_library(ddpprof::nvtx INTERFACE IMPORTED)
  target_include_directories(ddpprof::nvtx INTERFACE ${cuda_include})
  target_link_libraries(ddpprof::nvtx INTERFACE ${CMAKE_DL_LIBS})
endif()

ddpprof_find_cuda_half()

if(DDPPROF_HAS_CUDA)
  ddpprof_import(libc10_cuda ${torch_lib}/libc10_cuda.so)
  ddpprof_import(libtorch_cuda ${torch_lib}/libtorch_cuda.so)
  # ProcessGroupNCCL's layout depends on nccl.h, so the wheel's own comes first.
  ddpprof_import(nccl ${nccl_lib}/libnccl.so.2 INCLUDE ${nccl_include})
  add_library(ddpprof::torch_cuda INTERFACE IMPORTED)
  target_include_directories(ddpprof::torch_cuda INTERFACE ${nccl_include} ${cuda_include})
  target_compile_definitions(ddpprof::torch_cuda INTERFACE USE_C10D_NCCL USE_NVSHMEM)
  target_link_libraries(ddpprof::torch_cuda INTERFACE
    ddpprof::libtorch_cuda ddpprof::libc10_cuda ddpprof::nccl ddpprof::cupti ddpprof::cudart
    ddpprof::nvtx ddpprof::torch_cpu)
endif()
