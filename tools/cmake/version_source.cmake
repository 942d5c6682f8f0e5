# Run at every build: writes version.cpp, and leaves it untouched when nothing changed.
cmake_policy(VERSION 3.25)
set(commit unknown)
find_program(git git)
if(git)
  # A source archive may lie inside someone else's repository: its commit is not ours.
  execute_process(COMMAND ${git} -C ${repository} rev-parse --show-toplevel
    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH ${repository} repository)
  if(top STREQUAL repository)
    execute_process(
      COMMAND ${git} --no-optional-locks -C ${repository} describe
              --always --dirty --exclude=* --abbrev=10
      OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(described)
      set(commit ${described})
    endif()
  endif()
endif()

file(CONFIGURE OUTPUT ${source} CONTENT "#include \"ddpprof_version.h\"

namespace ddpprof {
constinit const std::string_view kVersion{\"${version}\"};
constinit const std::string_view kCommit{\"${commit}\"};
}  // namespace ddpprof
")
