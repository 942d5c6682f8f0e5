#include "tests/formats/random_trace.h"

#include <array>
#include <limits>
#include <string_view>

namespace ddpprof::test {
namespace {

using namespace std::string_view_literals;

constexpr std::array kTextPieces = {"a"sv,
                                    "Z"sv,
                                    "9"sv,
                                    " "sv,
                                    "\""sv,
                                    "\\"sv,
                                    "/"sv,
                                    "\n"sv,
                                    "\r"sv,
                                    "\t"sv,
                                    "\b"sv,
                                    "\0"sv,
                                    "\x01"sv,
                                    "\x1f"sv,
                                    "\x7f"sv,
                                    "\xc3\xa4"sv,
                                    "\xd7\xa9"sv,
                                    "\xe2\x80\xa8"sv,
                                    "#"sv,
                                    "::"sv,
                                    "{\"ph\":"sv,
                                    "\xe4\xb8\xad"sv,
                                    "\xf0\x9f\x90\x9b"sv,
                                    "}]"sv,
                                    "\\u0041"sv,
                                    "Memcpy"sv,
                                    "Memset"sv,
                                    "\xef\xbf\xbd"sv,
                                    "\xf4\x8f\xbf\xbf"sv,
                                    "nccl"sv};

template <typename T, typename Make>
std::optional<T> maybe(Random& random, Make make) {
  if (random_bool(random)) return std::nullopt;
  return make(random);
}

template <typename T, typename Make>
std::vector<T> some(Random& random, std::int64_t most, Make make) {
  std::vector<T> items;
  const std::int64_t count = random_below(random, 3) == 0 ? 0 : random_below(random, most + 1);
  for (std::int64_t i = 0; i < count; ++i) items.push_back(make());
  return items;
}

Span random_span(Random& random) { return {random_integer(random), random_integer(random)}; }

ClockPair random_clock(Random& random) { return {random_integer(random), random_integer(random)}; }

TraceInfo random_info(Random& random) {
  constexpr std::array kStrategies = {"single", "dp", "ddp", ""};
  TraceInfo info;
  info.workload = random_workload(random);
  info.strategy = kStrategies[static_cast<std::size_t>(random_below(random, 4))];
  info.rank = random_small_integer(random);
  info.world_size = random_small_integer(random);
  info.host = random_text(random);
  info.boot_id = random_text(random);
  info.clock_begin = random_clock(random);
  info.clock_end = random_clock(random);
  info.clock_uncertainty_ns = maybe<std::int64_t>(random, random_integer);
  info.device_clock_uncertainty_ns = maybe<std::int64_t>(random, random_integer);
  info.devices = random_devices(random);
  info.devices_are_threads = random_bool(random);
  info.recorder = random_text(random);
  info.dropped_records = random_integer(random);
  for (int i = 0; i < 3; ++i) {
    if (random_bool(random)) info.versions[random_text(random)] = random_text(random);
    if (random_bool(random)) info.counts[random_text(random)] = random_integer(random);
    if (random_bool(random)) {
      info.collector_overheads_ns[random_text(random)] = random_integer(random);
    }
    if (random_bool(random)) info.ddp_logging_numbers[random_text(random)] = random_integer(random);
    if (random_bool(random)) {
      info.planted_delays_ns[random_integer(random)] = random_integer(random);
    }
    if (random_bool(random)) info.ddp_logging_texts[random_text(random)] = random_text(random);
  }
  info.peak_memory_bytes = some<std::optional<std::int64_t>>(
      random, 3, [&] { return maybe<std::int64_t>(random, random_integer); });
  return info;
}

Thread random_thread(Random& random) {
  return {.system_id = random_integer(random),
          .life = random_span(random),
          .name = random_text(random),
          .is_main = random_bool(random),
          .replica = maybe<std::int32_t>(random, random_small_integer)};
}

// Draws members for one trace, whose names and threads are known.
struct Drawer {
  Random& random;
  const Trace& trace;

  NameId name() const { return {static_cast<std::uint32_t>(below(trace.names.size()))}; }
  ThreadId thread() const { return {static_cast<std::uint32_t>(below(trace.threads.size()))}; }
  std::int64_t below(std::size_t limit) const {
    return random_below(random, static_cast<std::int64_t>(limit));
  }

  Step step() const {
    return {random_integer(random), random_small_integer(random), random_span(random),
            random_bool(random)};
  }
  Scope scope() const {
    return {.span = random_span(random),
            .thread = thread(),
            .phase = static_cast<Phase>(below(kPhaseNames.size())),
            .name = name(),
            .computes = random_bool(random),
            .cpu_ns = maybe<std::int64_t>(random, random_integer),
            .replica = maybe<std::int32_t>(random, random_small_integer)};
  }
  Call call() const {
    return {random_span(random), thread(), name(), random_integer(random), random_bool(random)};
  }
  Work work() const {
    return {.span = random_span(random),
            .device = random_small_integer(random),
            .stream = random_integer(random),
            .activity = static_cast<Activity>(below(3)),
            .name = name(),
            .correlation = random_integer(random),
            .bytes = random_integer(random),
            .captured_phase = maybe<Phase>(
                random, [&](Random&) { return static_cast<Phase>(below(kPhaseNames.size())); })};
  }
  DevicePhase device_phase() const {
    return {.span = random_span(random),
            .device = random_small_integer(random),
            .step = random_integer(random),
            .phase = static_cast<Phase>(below(kPhaseNames.size()))};
  }
  std::optional<ElementType> element_type() const {
    if (random_bool(random)) return std::nullopt;
    return static_cast<ElementType>(below(std::size(kElementTypeNames)));
  }
  Collective collective() const {
    std::optional<std::uint32_t> carried_by;
    if (!trace.work.empty() && random_bool(random)) {
      carried_by = static_cast<std::uint32_t>(below(trace.work.size()));
    }
    return {.kind = static_cast<CollectiveKind>(below(std::size(kCollectiveKindNames))),
            .communicator = name(),
            .sequence = random_integer(random),
            .bytes = random_integer(random),
            .element_type = element_type(),
            .gradient = random_bool(random),
            .bucket = maybe<std::int32_t>(random, random_small_integer),
            .root = maybe<std::int32_t>(random, random_small_integer),
            .device = random_small_integer(random),
            .ready_ns = maybe<std::int64_t>(random, random_integer),
            .span = random_span(random),
            .work = carried_by};
  }
  Issue issue() const { return {random_text(random), random_text(random), random_integer(random)}; }
};

}  // namespace

bool random_bool(Random& random) { return random() % 2 == 0; }

std::int64_t random_below(Random& random, std::int64_t limit) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
}

std::int64_t random_integer(Random& random) {
  constexpr std::int64_t kHuge = 9'000'000'000'000'000;
  constexpr std::array<std::int64_t, 8> kSpecial = {0,
                                                    1,
                                                    -1,
                                                    999,
                                                    -1000,
                                                    kHuge,
                                                    std::numeric_limits<std::int64_t>::min(),
                                                    std::numeric_limits<std::int64_t>::max()};
  switch (random_below(random, 4)) {
    case 0:
      return kSpecial[static_cast<std::size_t>(random_below(random, kSpecial.size()))];
    case 1:
      return random_below(random, 2'000'000) - 1'000'000;
    default:
      return random_below(random, 2 * kHuge) - kHuge;
  }
}

std::int32_t random_small_integer(Random& random) {
  switch (random_below(random, 8)) {
    case 0:
      return std::numeric_limits<std::int32_t>::min();
    case 1:
      return std::numeric_limits<std::int32_t>::max();
    default:
      return static_cast<std::int32_t>(random_below(random, 2000) - 1000);
  }
}

std::string random_text(Random& random) {
  std::string text;
  for (std::int64_t i = random_below(random, 12); i > 0; --i) {
    text += kTextPieces[static_cast<std::size_t>(random_below(random, kTextPieces.size()))];
  }
  return text;
}

WorkloadInfo random_workload(Random& random) {
  return {.name = random_text(random),
          .model = random_text(random),
          .dtype = random_text(random),
          .global_batch = maybe<std::int64_t>(random, random_integer),
          .parameters_count = maybe<std::int64_t>(random, random_integer),
          .gradient_bytes = maybe<std::int64_t>(random, random_integer),
          .sequence_length = maybe<std::int64_t>(random, random_integer),
          .micro_steps = maybe<std::int64_t>(random, random_integer)};
}

std::vector<Device> random_devices(Random& random) {
  return some<Device>(random, 3, [&] {
    return Device{random_text(random), random_integer(random),
                  maybe<std::int32_t>(random, random_small_integer)};
  });
}

Trace random_trace(Random& random) {
  Trace trace;
  trace.info = random_info(random);
  NameTable names(trace.names);
  for (std::int64_t i = random_below(random, 8); i > 0; --i) names.intern(random_text(random));
  trace.threads = some<Thread>(random, 4, [&] { return random_thread(random); });

  const Drawer draw{random, trace};
  trace.steps = some<Step>(random, 4, [&] { return draw.step(); });
  trace.issues = some<Issue>(random, 3, [&] { return draw.issue(); });
  trace.device_phases = some<DevicePhase>(random, 8, [&] { return draw.device_phase(); });
  if (trace.names.empty()) return trace;
  trace.work = some<Work>(random, 8, [&] { return draw.work(); });
  trace.collectives = some<Collective>(random, 8, [&] { return draw.collective(); });
  if (trace.threads.empty()) return trace;
  trace.scopes = some<Scope>(random, 10, [&] { return draw.scope(); });
  trace.calls = some<Call>(random, 6, [&] { return draw.call(); });
  return trace;
}

}  // namespace ddpprof::test
