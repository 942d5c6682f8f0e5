#include "profiler/diagnose/collectives.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

struct Key {
  std::string_view communicator;
  std::int64_t sequence = 0;
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;

  auto operator<=>(const Key&) const = default;
};

// Who takes part: a rank, and one of its devices (several under DP).
struct Member {
  std::size_t trace = 0;
  std::int32_t device = 0;

  auto operator<=>(const Member&) const = default;
};

struct Part {
  Member member;
  std::size_t index = 0;  // in Trace::collectives
  const Collective* collective = nullptr;
};

enum class Clock : std::uint8_t { common, separate };

Clock find_clock(const Run& run) {
  const bool same_boot = std::ranges::all_of(run.ranks, [&](const Trace& trace) {
    return !trace.info.boot_id.empty() && trace.info.boot_id == run.ranks.front().info.boot_id;
  });
  const bool measured = std::ranges::all_of(
      run.ranks, [](const Trace& trace) { return trace.info.clock_uncertainty_ns.has_value(); });
  return run.ranks.size() <= 1 || same_boot || measured ? Clock::common : Clock::separate;
}

// Two ranks' clocks may be as far apart as one is from the job's; and the times of both ranks'
// devices from their own clocks, in opposite directions.
std::int64_t find_uncertainty(const Run& run) {
  std::int64_t of_clocks = 0, of_devices = 0, of_other_devices = 0;
  if (run.ranks.size() <= 1) return 0;
  for (const Trace& trace : run.ranks) {
    of_clocks = std::max(of_clocks, trace.info.clock_uncertainty_ns.value_or(0));
    const std::int64_t of_device = trace.info.device_clock_uncertainty_ns.value_or(0);
    of_other_devices = std::max(of_other_devices, std::min(of_devices, of_device));
    of_devices = std::max(of_devices, of_device);
  }
  return of_clocks + of_devices + of_other_devices;
}

bool is_symmetric(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::barrier:
      return true;
    default:
      return false;
  }
}

bool is_root(const Part& part, const Run& run) {
  const std::int32_t own =
      run.ranks.size() > 1 ? run.ranks[part.member.trace].info.rank : part.member.device;
  return part.collective->root == own;
}

// Whether `receiver` cannot finish before `sender` has begun. Absent root: not known.
std::optional<bool> needs(const Part& receiver, const Part& sender, const Run& run) {
  switch (receiver.collective->kind) {
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      if (!receiver.collective->root) return std::nullopt;
      return is_root(sender, run);
    case CollectiveKind::reduce:
    case CollectiveKind::gather:
      if (!receiver.collective->root) return std::nullopt;
      return is_root(receiver, run);
    case CollectiveKind::send:
      return false;
    case CollectiveKind::receive:
      return sender.collective->kind == CollectiveKind::send;
    default:
      return true;
  }
}

// `last_start` of all members, so that a symmetric collective costs O(members).
std::optional<std::int64_t> start_of_last_needed(const Part& part, const std::vector<Part>& parts,
                                                 std::int64_t last_start, const Run& run) {
  if (is_symmetric(part.collective->kind)) return last_start;
  std::int64_t last = part.collective->span.begin_ns;
  for (const Part& other : parts) {
    const auto needed = needs(part, other, run);
    if (!needed) return std::nullopt;
    if (*needed) last = std::max(last, other.collective->span.begin_ns);
  }
  return last;
}

std::optional<CollectiveTiming> time_part(const Part& part, const std::vector<Part>& parts,
                                          std::int64_t last_start, const Run& run) {
  const Span own = part.collective->span;
  const auto last = start_of_last_needed(part, parts, last_start, run);
  if (!last) return std::nullopt;
  const std::int64_t wait = std::max<std::int64_t>(0, std::min(*last, own.end_ns) - own.begin_ns);
  return CollectiveTiming{.wait_ns = wait, .transfer_ns = own.length_ns() - wait};
}

class Matcher {
 public:
  explicit Matcher(const Run& run) : run_(run), clock_(find_clock(run)) {
    matched_.uncertainty_ns = find_uncertainty(run);
    for (const Trace& trace : run.ranks) matched_.timings.emplace_back(trace.collectives.size());
  }

  MatchedCollectives match() {
    collect();
    for (auto& [key, parts] : parts_) match_group(key, parts);
    const auto world = static_cast<std::size_t>(run_.ranks.front().info.world_size);
    matched_.are_known = timed_count_ > 0 && run_.ranks.size() >= world;
    report();
    return std::move(matched_);
  }

 private:
  void collect() {
    for (std::size_t i = 0; i < run_.ranks.size(); ++i) {
      const Trace& trace = run_.ranks[i];
      for (std::size_t j = 0; j < trace.collectives.size(); ++j) {
        const Collective& collective = trace.collectives[j];
        const std::string_view communicator = trace.names[collective.communicator.index];
        const Member member{i, collective.device};
        // The two ends of one transfer are one collective.
        const CollectiveKind kind =
            collective.kind == CollectiveKind::receive ? CollectiveKind::send : collective.kind;
        parts_[{communicator, collective.sequence, kind, collective.bytes}].push_back(
            {member, j, &collective});
        members_[communicator].insert(member);
      }
    }
  }

  // Each member's parts in order of time: the k-th of each belong together.
  void match_group(const Key& key, std::vector<Part>& parts) {
    std::ranges::sort(parts, [](const Part& a, const Part& b) {
      return std::tuple(a.member, a.collective->span, a.index) <
             std::tuple(b.member, b.collective->span, b.index);
    });
    std::map<Member, std::size_t> seen;
    std::vector<std::vector<Part>> rounds;
    for (const Part& part : parts) {
      const std::size_t round = seen[part.member]++;
      if (round == rounds.size()) rounds.emplace_back();
      rounds[round].push_back(part);
    }
    const std::size_t expected =
        key.kind == CollectiveKind::send ? 2 : members_[key.communicator].size();
    const bool is_complete = seen.size() == expected && std::ranges::all_of(rounds, [&](auto& r) {
                               return r.size() == expected;
                             });
    if (!is_complete) {
      unmatched_count_ += static_cast<std::int64_t>(parts.size());
      return;
    }
    for (const auto& round : rounds) time_round(round);
  }

  void time_round(const std::vector<Part>& parts) {
    std::int64_t last_start = parts.front().collective->span.begin_ns;
    std::int64_t first_end = parts.front().collective->span.end_ns;
    std::int64_t shortest = parts.front().collective->span.length_ns();
    for (const Part& part : parts) {
      last_start = std::max(last_start, part.collective->span.begin_ns);
      first_end = std::min(first_end, part.collective->span.end_ns);
      shortest = std::min(shortest, part.collective->span.length_ns());
    }
    const bool symmetric = is_symmetric(parts.front().collective->kind);
    if (clock_ == Clock::common && symmetric && last_start > first_end + matched_.uncertainty_ns) {
      impossible_count_ += static_cast<std::int64_t>(parts.size());
      return;
    }
    for (const Part& part : parts) {
      std::optional<CollectiveTiming> timing;
      if (clock_ == Clock::common) {
        timing = time_part(part, parts, last_start, run_);
      } else if (symmetric) {
        timing = {.wait_ns = part.collective->span.length_ns() - shortest, .transfer_ns = shortest};
      }
      if (timing) {
        ++timed_count_;
      } else {
        ++untimed_count_;
      }
      matched_.timings[part.member.trace][part.index] = timing;
    }
  }

  void report() {
    const auto say = [&](std::int64_t count, std::string code, std::string text) {
      if (count > 0) matched_.issues.push_back({std::move(code), std::move(text), count});
    };
    const std::int64_t missing = static_cast<std::int64_t>(run_.ranks.front().info.world_size) -
                                 static_cast<std::int64_t>(run_.ranks.size());
    say(missing, "rank-missing",
        "ranks of the job have no trace, so waiting in collectives is not known");
    if (missing <= 0) {  // else it is no news that partners are missing
      say(unmatched_count_, "collective-unmatched",
          "collectives were not found on all ranks of their communicator and are left out");
    }
    say(impossible_count_, "collective-impossible",
        "collectives ended on one rank before they began on another and are left out");
    say(untimed_count_, "collective-untimed",
        "collectives do not tell who waits for whom and are left out");
    if (clock_ == Clock::separate && timed_count_ > 0) {
      say(1, "no-common-clock",
          "the ranks' clocks were never compared: the shortest duration over the ranks stands for "
          "the transfer");
    }
  }

  const Run& run_;
  Clock clock_;
  std::map<Key, std::vector<Part>> parts_;
  std::map<std::string_view, std::set<Member>> members_;
  MatchedCollectives matched_;
  std::int64_t timed_count_ = 0, unmatched_count_ = 0, impossible_count_ = 0, untimed_count_ = 0;
};

}  // namespace

MatchedCollectives match_collectives(const Run& run) {
  if (run.ranks.empty()) return {};
  return Matcher(run).match();
}

}  // namespace ddpprof
