// The kinds of scenarios that are as CUPTI records them.
#pragma once

#include "tests/diagnose/scenario.h"
#include "tests/diagnose/simulator.h"

#include <array>
#include <cstdint>
#include <ostream>
#include <vector>

namespace ddpprof::test {

struct CudaKind {
  const char* name = nullptr;
  std::vector<Simulation> (*simulate)(std::uint32_t seed) = nullptr;  // a rank each
};

inline void PrintTo(const CudaKind& kind, std::ostream* out) { *out << kind.name; }

inline constexpr CudaKind kDdpKind{
    "Ddp", [](std::uint32_t seed) { return simulate(make_ddp_scenario(seed)); }};
inline constexpr CudaKind kDpKind{
    "Dp", [](std::uint32_t seed) { return simulate(std::vector{make_dp_scenario(seed)}); }};
inline constexpr CudaKind kGraphKind{
    "Graph", [](std::uint32_t seed) { return simulate(std::vector{make_graph_scenario(seed)}); }};
inline constexpr std::array kCudaKinds = {kDdpKind, kDpKind, kGraphKind};

}  // namespace ddpprof::test
