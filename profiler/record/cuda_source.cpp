// Which device source a process with GPUs gets.
#include "profiler/record/cupti_source.h"
#include "profiler/record/device_source.h"
#include "profiler/record/event_source.h"

#include <string>
#include <utility>

namespace ddpprof {

std::unique_ptr<DeviceSource> make_device_source(RecorderChoice choice,
                                                 const std::string& objection) {
  if (choice == RecorderChoice::events) return make_event_source({});
  if (!objection.empty()) return make_event_source(objection);
  std::string reason;
  if (auto source = make_cupti_source(reason)) return source;
  return make_event_source(std::move(reason));
}

}  // namespace ddpprof
