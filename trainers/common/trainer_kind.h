// Which of the two trainers this is. One definition is linked in: host/ or cuda/.
#pragma once

#include <string_view>

namespace ddpprof {

struct TrainerKind {
  std::string_view program;          // "ddpprof-train"
  bool devices_are_threads = false;  // a device is a set of CPU threads, else a GPU
  int collectives_at_once = 0;       // see Recorder::Options::service_threads
};

extern const TrainerKind kTrainerKind;

}  // namespace ddpprof
