# The system packages. All are found here, so that a missing one is one clear message; which folder
# may use which is checked by tools/check.

# Finds a package or stops with the name of its Debian package.
macro(ddpprof_need package debian_package)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "ddpprof: ${package}: not found\n"
                        "  hint: run tools/setup, or install ${debian_package}")
  endif()
endmacro()

ddpprof_need(fmt libfmt-dev)
ddpprof_need(simdjson libsimdjson-dev)
ddpprof_need(nlohmann_json nlohmann-json3-dev)
ddpprof_need(CLI11 libcli11-dev)
ddpprof_need(ZLIB zlib1g-dev)
ddpprof_need(SQLite3 libsqlite3-dev)
set(THREADS_PREFER_PTHREAD_FLAG ON)
ddpprof_need(Threads libc6-dev)

if(BUILD_TESTING)
  ddpprof_need(GTest libgtest-dev)
  include(GoogleTest)
endif()
if(DDPPROF_BENCH)
  ddpprof_need(benchmark libbenchmark-dev)
endif()
if(DDPPROF_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "ddpprof: DDPPROF_FUZZ: needs clang, the compiler is ${CMAKE_CXX_COMPILER_ID}\n"
                      "  hint: configure with -DCMAKE_CXX_COMPILER=clang++")
endif()
