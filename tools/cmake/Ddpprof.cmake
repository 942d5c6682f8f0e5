# How every target of the project is made: ddpprof_library, ddpprof_program, ddpprof_test, and the
# warnings they share. Lists of sources and headers are relative to the calling CMakeLists.txt.

# ccache makes the second build of the same source nearly free, in another clone too: paths below the
# base folder are made relative and the build folder's name does not count.
find_program(DDPPROF_CCACHE ccache)
mark_as_advanced(DDPPROF_CCACHE)
if(DDPPROF_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      ${DDPPROF_CCACHE})
endif()

add_library(ddpprof_options INTERFACE)
# -Wfloat-conversion instead of -Wconversion: nanoseconds are 64-bit integers that become double in
# every ratio, and a cast at each such place hides more than it shows. clang-tidy watches the
# narrowing of integers. -Wno-restrict: std::string's insert and + raise it falsely in g++ 12
# (GCC bug 105651).
target_compile_options(ddpprof_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wfloat-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<BOOL:${DDPPROF_WERROR}>:-Werror>)
target_compile_definitions(ddpprof_options INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
target_include_directories(ddpprof_options INTERFACE ${PROJECT_SOURCE_DIR})

# ddpprof_library(name HEADERS … SOURCES … PUBLIC … PRIVATE …): target ddpprof_<name>, to be linked
# as ddpprof::<name>. Headers are included from the repository root ("profiler/trace/span.h") and
# each is compiled alone by the target all_verify_interface_header_sets.
function(ddpprof_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;SOURCES;PUBLIC;PRIVATE")
  ddpprof_refuse_unknown(ddpprof_library ${name} "${arg_UNPARSED_ARGUMENTS}")
  set(target ddpprof_${name})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ddpprof_options ${arg_PRIVATE})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_PUBLIC})
  endif()
  add_library(ddpprof::${name} ALIAS ${target})
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR})
  if(arg_HEADERS)
    target_sources(${target} ${scope}
      FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${arg_HEADERS})
  endif()
endfunction()

# ddpprof_program(name SOURCES … PRIVATE …): a program in <build>/bin.
function(ddpprof_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PRIVATE")
  ddpprof_refuse_unknown(ddpprof_program ${name} "${arg_UNPARSED_ARGUMENTS}")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ddpprof_options ${arg_PRIVATE})
endfunction()

# ddpprof_test(name SOURCES … LIBRARIES … LABELS … PROPERTIES …): both of the following.
function(ddpprof_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;LABELS;PROPERTIES")
  ddpprof_refuse_unknown(ddpprof_test ${name} "${arg_UNPARSED_ARGUMENTS}")
  ddpprof_test_program(${name} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
  ddpprof_register_tests(${name} LABELS ${arg_LABELS} PROPERTIES ${arg_PROPERTIES})
endfunction()

# ddpprof_test_program(name SOURCES … LIBRARIES …): one GoogleTest program, ddpprof_<name>_test, in
# <build>/bin/tests.
function(ddpprof_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  ddpprof_refuse_unknown(ddpprof_test_program ${name} "${arg_UNPARSED_ARGUMENTS}")
  set(target ddpprof_${name}_test)
  add_executable(${target} ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
  target_link_libraries(${target} PRIVATE ddpprof_options ${arg_LIBRARIES} GTest::gtest_main)
endfunction()

# ddpprof_register_tests(name LABELS … PROPERTIES …): each test of that program becomes CTest's
# <name>.<Suite>.<Test> under the labels (default: unit). PROPERTIES are CTest properties of each
# test, such as RUN_SERIAL TRUE or TIMEOUT 300 (default: 120 seconds).
function(ddpprof_register_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;PROPERTIES")
  ddpprof_refuse_unknown(ddpprof_register_tests ${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  set(target ddpprof_${name}_test)
  gtest_discover_tests(${target}
    TEST_PREFIX ${name}.
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 120 ${arg_PROPERTIES})
  # gtest_discover_tests would make two labels two arguments, so they are set after it, by CTest.
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake)
  file(WRITE ${labels_file}
    "set_tests_properties(\${${target}_TESTS} PROPERTIES LABELS \"${arg_LABELS}\")\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
endfunction()

function(ddpprof_refuse_unknown function name unknown)
  if(unknown)
    message(FATAL_ERROR "${function}(${name}): unknown arguments: ${unknown}")
  endif()
endfunction()

# What was found, and what follows from it. Each line: what, state, why it matters.
function(ddpprof_print_summary)
  set(lines "")
  macro(line what state why)
    string(SUBSTRING "${what}                    " 0 20 padded)
    string(APPEND lines "  ${padded}${state}\n                      ${why}\n")
  endmacro()

  line("build type" "${CMAKE_BUILD_TYPE}" "CMAKE_BUILD_TYPE; programs go to ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  if(DDPPROF_CCACHE)
    line("ccache" "found" "unchanged files are not compiled again after a switch of branches or a deleted folder")
  else()
    line("ccache" "not found" "a switch of branches or a deleted folder compiles everything again")
  endif()
  line("DDPPROF_TRAINERS" "${DDPPROF_TRAINERS}" "OFF: ddpprof reads and compares profiles, but cannot record new ones")
  if(DDPPROF_TRAINERS)
    line("LibTorch" "${DDPPROF_TORCH_VERSION} in ${DDPPROF_SITE_PACKAGES}" "ddpprof-train links it")
    line("DDPPROF_CUDA" "${DDPPROF_CUDA}: ${DDPPROF_CUDA_STATE}" "without it ddpprof-train-cuda, the trainer for GPUs, is not built")
  endif()
  line("DDPPROF_BENCH" "${DDPPROF_BENCH}" "benchmarks of the readers and of the recorder's cost")
  line("BUILD_TESTING" "${BUILD_TESTING}" "tests run by ctest")
  line("DDPPROF_GPU_TESTS" "${DDPPROF_GPU_TESTS}" "tests that need a GPU are registered with ctest")
  line("DDPPROF_FUZZ" "${DDPPROF_FUZZ}" "libFuzzer programs for the readers")
  line("DDPPROF_WERROR" "${DDPPROF_WERROR}" "warnings stop the build")
  message(STATUS "ddpprof ${PROJECT_VERSION}\n${lines}")
endfunction()
