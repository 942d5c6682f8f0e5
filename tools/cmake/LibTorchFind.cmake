# Where LibTorch's wheels lie, and whether they are whole: used by LibTorchWheel.cmake alone.

# True when tools/setup has unpacked every wheel of a list: it writes stamps/<wheel>, which begins
# with the wheel's hash, after the last file of that wheel.
function(ddpprof_wheels_are_whole list_file stamps result)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list_file})
  set(${result} TRUE PARENT_SCOPE)
  file(STRINGS ${list_file} wheels REGEX "^[a-z]")
  foreach(wheel IN LISTS wheels)
    string(REGEX MATCH "^([^=]+)==.*sha256:([0-9a-f]+)" _ "${wheel}")
    set(name ${CMAKE_MATCH_1})
    set(hash ${CMAKE_MATCH_2})
    set(stamped "")
    if(EXISTS ${stamps}/${name})
      file(STRINGS ${stamps}/${name} stamped LIMIT_COUNT 1)
    endif()
    if(NOT stamped STREQUAL hash)
      set(${result} FALSE PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Sets DDPPROF_SITE_PACKAGES, and DDPPROF_STAMPS when it is the folder of tools/setup.
macro(ddpprof_find_site_packages)
  set(DDPPROF_STAMPS "")
  set(given "${DDPPROF_TORCH}")
  if(NOT given)
    set(given "$ENV{DDPPROF_TORCH}")
  endif()
  if(given)
    get_filename_component(given "${given}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
    if(NOT EXISTS ${given}/torch AND EXISTS ${given}/version.py)
      get_filename_component(given ${given} DIRECTORY)
    endif()
    set(DDPPROF_SITE_PACKAGES ${given})
  else()
    if(NOT "$ENV{DDPPROF_CACHE}" STREQUAL "")
      set(cache $ENV{DDPPROF_CACHE})
    elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
      set(cache $ENV{XDG_CACHE_HOME}/ddpprof)
    else()
      set(cache $ENV{HOME}/.cache/ddpprof)
    endif()
    set(DDPPROF_SITE_PACKAGES ${cache}/libtorch-2.11.0/site-packages)
    set(DDPPROF_STAMPS ${cache}/libtorch-2.11.0/stamps)
    ddpprof_wheels_are_whole(${PROJECT_SOURCE_DIR}/tools/wheels-cpu.txt ${DDPPROF_STAMPS} whole)
    if(NOT whole)
      message(FATAL_ERROR
        "ddpprof: LibTorch: not installed, or only in part, in ${cache}\n"
        "  hint: run tools/setup (downloads 0.6 GB), set DDPPROF_TORCH to a site-packages folder "
        "with torch 2.11, or build without it: -DDDPPROF_TRAINERS=OFF")
    endif()
  endif()
endmacro()

# Reads the version from torch/version.py as text; Python is not run.
macro(ddpprof_check_torch_version)
  set(version_file ${DDPPROF_SITE_PACKAGES}/torch/version.py)
  if(NOT EXISTS ${version_file})
    message(FATAL_ERROR "ddpprof: ${DDPPROF_SITE_PACKAGES}: no torch/version.py in it\n"
                        "  hint: DDPPROF_TORCH is a site-packages folder, or the torch folder in it")
  endif()
  file(STRINGS ${version_file} version_line REGEX "^__version__")
  string(REGEX MATCH "['\"]([^'\"]+)['\"]" _ "${version_line}")
  set(DDPPROF_TORCH_VERSION "${CMAKE_MATCH_1}")
  if(NOT DDPPROF_TORCH_VERSION MATCHES "^2\\.11\\.")
    message(FATAL_ERROR
      "ddpprof: ${DDPPROF_SITE_PACKAGES}: torch is \"${DDPPROF_TORCH_VERSION}\", wanted is 2.11\n"
      "  hint: the C++ interface of distributed training changes with every release; "
      "unset DDPPROF_TORCH and run tools/setup")
  endif()
endmacro()

# Sets DDPPROF_HAS_CUDA and DDPPROF_CUDA_STATE; stops when DDPPROF_CUDA is ON and a part is missing.
macro(ddpprof_find_cuda_half)
  set(DDPPROF_HAS_CUDA FALSE)
  set(missing "")
  if(DDPPROF_STAMPS)
    ddpprof_wheels_are_whole(${PROJECT_SOURCE_DIR}/tools/wheels-cuda.txt ${DDPPROF_STAMPS} whole)
    if(NOT whole)
      set(missing "the CUDA wheels")
    endif()
  endif()
  foreach(part torch/lib/libtorch_cuda.so torch/lib/libc10_cuda.so
          nvidia/cu13/lib/libcudart.so.13 nvidia/cu13/lib/libcupti.so.13 nvidia/nccl/lib/libnccl.so.2
          nvidia/cu13/include/cuda_runtime_api.h nvidia/cu13/include/cupti.h
          nvidia/cu13/include/nvtx3/nvToolsExt.h nvidia/cu13/include/crt/host_defines.h
          nvidia/cu13/include/nv/target nvidia/cu13/include/cublas_v2.h
          nvidia/cu13/include/cusparse.h nvidia/cu13/include/cusolverDn.h
          nvidia/nccl/include/nccl.h)
    if(NOT missing AND NOT EXISTS ${DDPPROF_SITE_PACKAGES}/${part})
      set(missing ${part})
    endif()
  endforeach()

  if(DDPPROF_CUDA STREQUAL "AUTO" OR DDPPROF_CUDA)
    if(NOT missing)
      set(DDPPROF_HAS_CUDA TRUE)
      set(DDPPROF_CUDA_STATE "found")
    elseif(DDPPROF_CUDA STREQUAL "AUTO")
      set(DDPPROF_CUDA_STATE "not built, ${missing} not found (tools/setup --cuda brings it)")
    else()
      message(FATAL_ERROR
        "ddpprof: DDPPROF_CUDA: is ON, but in ${DDPPROF_SITE_PACKAGES} ${missing} was not found\n"
        "  hint: run tools/setup --cuda; beside a torch of your own, install the wheels of "
        "tools/wheels-cpu.txt and tools/wheels-cuda.txt")
    endif()
  else()
    set(DDPPROF_CUDA_STATE "switched off")
  endif()
endmacro()
