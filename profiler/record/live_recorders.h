// Which recorders exist. A thread that ends asks here whether its log still does.
#pragma once

#include "profiler/record/thread_table.h"

#include <cstdint>

namespace ddpprof {

// Threads: any; each call takes one lock.
void add_live_recorder(std::uint64_t id, ThreadTable& threads);
void remove_live_recorder(std::uint64_t id) noexcept;
// Gives `log` back to recorder `id`, unless that one is gone, and the log with it.
void detach_if_alive(std::uint64_t id, ThreadLog& log) noexcept;

}  // namespace ddpprof
