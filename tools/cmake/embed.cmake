# ddpprof_embed(target symbol file): makes the bytes of `file` part of `target`, to be used as
#   #include "embedded/<symbol>.h"    // ddpprof::embedded::<symbol>, a std::string_view
# Any bytes, also NUL; the assembler copies them, so size costs no compile time. The view is
# constant-initialised, so it is valid in every static initialiser.
set(DDPPROF_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_source.cmake)

function(ddpprof_embed target symbol file)
  if(NOT symbol MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "ddpprof_embed: ${symbol}: not a lower-case C++ name")
  endif()
  get_filename_component(file ${file} ABSOLUTE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded)
  set(header ${folder}/embedded/${symbol}.h)
  set(source ${folder}/embedded/${symbol}.cpp)
  file(CONFIGURE OUTPUT ${header} @ONLY CONTENT "#pragma once
#include <string_view>
namespace ddpprof::embedded {
extern const std::string_view @symbol@;
}  // namespace ddpprof::embedded
")
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -Dsymbol=${symbol} -Dfile=${file} -Dsource=${source}
            -P ${DDPPROF_EMBED_SCRIPT}
    DEPENDS ${file} ${DDPPROF_EMBED_SCRIPT}
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
