// Ids and names the system has for threads of this process.
#pragma once

#include <cstdint>
#include <string>

namespace ddpprof {

// The calling thread's. A system call.
std::uint32_t this_thread_id() noexcept;

// "pt_autograd_0"; "thread <id>" for one that has ended, or that nobody named (it is then called as
// the process is).
std::string name_of_thread(std::uint32_t system_id);

}  // namespace ddpprof
