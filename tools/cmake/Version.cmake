# Target ddpprof::version: kVersion and kCommit in "ddpprof_version.h". The commit is looked up at
# every build (some milliseconds) and only a change rewrites, compiles and links anything.
set(folder ${PROJECT_BINARY_DIR}/version)

file(CONFIGURE OUTPUT ${folder}/ddpprof_version.h @ONLY CONTENT "#pragma once
#include <string_view>
namespace ddpprof {
// The release, such as \"0.1.0\".
extern const std::string_view kVersion;
// The commit it was built from, such as \"1a2b3c4d5e\" or \"1a2b3c4d5e-dirty\"; \"unknown\" without git.
extern const std::string_view kCommit;
}  // namespace ddpprof
")

add_custom_target(ddpprof_commit
  COMMAND ${CMAKE_COMMAND} -Dversion=${PROJECT_VERSION} -Drepository=${PROJECT_SOURCE_DIR}
          -Dsource=${folder}/version.cpp -P ${CMAKE_CURRENT_LIST_DIR}/version_source.cmake
  BYPRODUCTS ${folder}/version.cpp
  COMMENT "Looking up the commit"
  VERBATIM)
add_library(ddpprof_version STATIC ${folder}/version.cpp)
add_library(ddpprof::version ALIAS ddpprof_version)
add_dependencies(ddpprof_version ddpprof_commit)
target_include_directories(ddpprof_version PUBLIC ${folder})
unset(folder)
