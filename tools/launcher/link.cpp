#include "tools/launcher/link.h"

#include "profiler/trace/error.h"

#include <algorithm>
#include <array>

namespace ddpprof {
namespace {

struct Variable {
  const char* name;
  const char* value;
};

struct LinkRow {
  std::string_view name;
  std::string_view text;
  std::array<Variable, 3> sets;
  std::array<Variable, 3> forbidden_by;  // by the user's environment
};

// NCCL tries P2P, shared memory and the network, in this order. NCCL_NET: else InfiniBand, where it
// is, would be taken for sockets.
constexpr LinkRow kLinks[] = {
    {"p2p",
     "GPU to GPU",
     {},
     {{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_P2P_LEVEL", "LOC"}, {"NCCL_P2P_LEVEL", "0"}}}},
    {"shm",
     "the host's shared memory",
     {{{"NCCL_P2P_DISABLE", "1"}}},
     {{{"NCCL_SHM_DISABLE", "1"}}}},
    {"socket",
     "sockets",
     {{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}, {"NCCL_NET", "Socket"}}},
     {}}};

const LinkRow& row_of(const std::string& link) {
  const auto* const row = std::ranges::find(kLinks, link, &LinkRow::name);
  if (row == std::end(kLinks)) {
    throw UsageError("--link " + link, "unknown link", "known are p2p, shm, socket");
  }
  return *row;
}

}  // namespace

void check_link(const std::string& link) { row_of(link); }

std::map<std::string, std::string> link_environment(
    const std::string& link, const std::map<std::string, std::string>& nccl_variables) {
  const LinkRow& row = row_of(link);
  for (const auto& [name, value] : row.forbidden_by) {
    if (name == nullptr) continue;
    const auto found = nccl_variables.find(name);
    if (found == nccl_variables.end() || found->second != value) continue;
    throw UsageError("--link " + link,
                     std::string(name) + "=" + value + " of the environment forbids it",
                     "unset " + std::string(name) + ", or take another link");
  }
  std::map<std::string, std::string> environment;
  for (const auto& [name, value] : row.sets) {
    if (name != nullptr) environment[name] = value;
  }
  return environment;
}

std::string_view link_text(const std::string& link) { return row_of(link).text; }

}  // namespace ddpprof
