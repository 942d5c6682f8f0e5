// What `ddpprof compare` and its trainers say to each other: JSON, one message a line, over one
// socket a trainer. compare sends orders, a trainer sends messages.
//
//   trainer                              compare
//   port (rank 0 of ddp, port 0 asked)  ->  starts the other ranks
//   progress, progress, …               ->  during set-up and warm-up
//   ready                               ->
//                                       <-  run {steps, discarded, record, visit}
//   progress, …                         ->
//   ran {step_ends_ns}                  ->
//                                       <-  finish
//   done                                ->  the trace is written; the trainer exits 0
//   error                               ->  at any time; the trainer exits 1
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ddpprof {

// Run `discarded` + `steps` optimizer steps in a row.
struct RunOrder {
  std::int64_t steps = 0;
  std::int64_t discarded = 0;
  bool record = false;
  std::int32_t visit = 0;  // Step::visit of what is recorded

  bool operator==(const RunOrder&) const = default;
};

// Write the trace and leave.
struct FinishOrder {
  bool operator==(const FinishOrder&) const = default;
};

using Order = std::variant<RunOrder, FinishOrder>;

// The port rank 0's store listens on.
struct PortMessage {
  std::int32_t port = 0;
  bool operator==(const PortMessage&) const = default;
};

struct ProgressMessage {
  std::string stage;  // "set-up", "warm-up", "steps"
  std::int64_t step = 0;
  std::int64_t steps_count = 0;
  bool operator==(const ProgressMessage&) const = default;
};

// Warmed up and waiting for orders.
struct ReadyMessage {
  WorkloadInfo workload;
  std::vector<Device> devices;  // that this process drives
  std::string torch_version;
  bool operator==(const ReadyMessage&) const = default;
};

// When each step ended. Shape: steps + 1 values; the first is the end of the last discarded step
// (or the begin of the first step when none was discarded). Clock: CLOCK_MONOTONIC.
struct RanMessage {
  std::vector<std::int64_t> step_ends_ns;
  bool operator==(const RanMessage&) const = default;
};

// Loss of this rank's share of the first and the last optimizer step.
struct DoneMessage {
  std::int64_t steps_count = 0;  // optimizer steps in all
  std::optional<double> first_loss, last_loss;
  bool operator==(const DoneMessage&) const = default;
};

struct ErrorMessage {
  std::string subject, problem, hint;
  bool is_usage = false;  // wrong usage: exit code 2
  bool operator==(const ErrorMessage&) const = default;
};

using Message =
    std::variant<PortMessage, ProgressMessage, ReadyMessage, RanMessage, DoneMessage, ErrorMessage>;

// One line, newline included.
std::string to_line(const Order& order);
std::string to_line(const Message& message);

// Throw Error when the line is not such a message.
Order parse_order(std::string_view line);
Message parse_message(std::string_view line);

}  // namespace ddpprof
