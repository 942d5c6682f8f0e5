#include "tools/launcher/environment.h"

#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

namespace ddpprof {

std::map<std::string, std::string> rank_environment(std::int32_t rank, std::int32_t ranks,
                                                    std::int32_t port) {
  const std::string number = fmt::format("{}", rank), world = fmt::format("{}", ranks);
  return {{"RANK", number},
          {"LOCAL_RANK", number},
          {"WORLD_SIZE", world},
          {"LOCAL_WORLD_SIZE", world},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", fmt::format("{}", port)}};
}

std::vector<std::string> launcher_variables() {
  return {"RANK",
          "WORLD_SIZE",
          "LOCAL_RANK",
          "LOCAL_WORLD_SIZE",
          "MASTER_ADDR",
          "MASTER_PORT",
          "GROUP_RANK",
          "TORCHELASTIC_USE_AGENT_STORE",
          "TORCHELASTIC_RESTART_COUNT"};
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& set,
                                            const std::vector<std::string>& unset) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    merged[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const std::string& name : unset) merged.erase(name);
  for (const auto& [name, value] : set) merged[name] = value;
  std::vector<std::string> strings;
  for (const auto& [name, value] : merged) strings.push_back(fmt::format("{}={}", name, value));
  return strings;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace ddpprof
