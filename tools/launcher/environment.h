// The environment of trainers. What tells a rank of DDP its place has torchrun's names and
// meanings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ddpprof {

// RANK, WORLD_SIZE and so on of one of `ranks` ranks, all on this machine. Rank 0 listens on `port`
// of the loopback address; 0: it takes a free one and says which through its control socket.
std::map<std::string, std::string> rank_environment(std::int32_t rank, std::int32_t ranks,
                                                    std::int32_t port);

// Variables that another launcher may have set for us and that our trainers must not see.
std::vector<std::string> launcher_variables();

// Our own environment without `unset` and with `set`, as "NAME=value" strings.
std::vector<std::string> merged_environment(const std::map<std::string, std::string>& set,
                                            const std::vector<std::string>& unset);

// As execve() takes them: the strings' own memory, and a null at the end.
std::vector<char*> pointers(std::vector<std::string>& strings);

}  // namespace ddpprof
