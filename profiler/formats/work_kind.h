// What other tools call a piece of device work: kernel, copy or set.
#pragma once

#include "profiler/trace/trace.h"

#include <string_view>

namespace ddpprof {

enum class WorkKind : std::uint8_t { kernel, copy, set };

// By its name where that tells ("Memcpy HtoD (Pinned -> Device)", "Memset (Device)"), else by its
// activity.
WorkKind kind_of(const Work& work, std::string_view name);

}  // namespace ddpprof
