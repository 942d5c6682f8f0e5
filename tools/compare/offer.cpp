#include "tools/compare/offer.h"

#include "tools/compare/devices.h"
#include "tools/launcher/link.h"
#include "tools/launcher/probe.h"
#include "tools/machine.h"

#include <algorithm>

#include <fmt/format.h>

namespace ddpprof {
namespace {

std::optional<std::string> version_of(const Probe& probe, const std::string& name) {
  const auto found = probe.versions.find(name);
  if (found == probe.versions.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

void describe_gpus(const Probe& probe, const ComparePlan& plan, MachineInfo& machine) {
  const auto count = std::min(static_cast<std::size_t>(plan.devices), probe.devices.size());
  for (std::size_t i = 0; i < count; ++i) machine.devices.push_back(probe.devices[i].device);
  if (plan.devices > 1 && !probe.link.empty()) machine.link = probe.link;
  // What is there is not what was used.
  if (plan.link && !plan.link_environment.empty()) {
    machine.link =
        fmt::format("{}{} (--link {})", machine.link ? *machine.link + "; NCCL used " : "",
                    link_text(*plan.link), *plan.link);
  }
  machine.driver = version_of(probe, "driver");
  machine.cuda = version_of(probe, "cuda");
  machine.nccl = version_of(probe, "nccl");
  machine.torch = version_of(probe, "torch");
}

void describe_threads(const ComparePlan& plan, MachineInfo& machine) {
  const std::string name =
      fmt::format("{} ({} thread{})", cpu_name(), plan.threads, plan.threads == 1 ? "" : "s");
  machine.devices.assign(static_cast<std::size_t>(plan.devices), Device{name, memory_bytes()});
  machine.link = "shared memory and loopback";
}

}  // namespace

Offer find_offer(const DeviceFlags& flags, const OfferSources& sources) {
  Offer offer;
  offer.gpus = count_gpus(sources.driver_folder);
  offer.cpus = usable_cpu_count();
  const std::filesystem::path trainer = sources.program_folder / kCudaTrainer;
  offer.has_cuda_trainer = std::filesystem::exists(trainer);
  offer.visible_devices = sources.visible_devices;
  offer.nccl_variables = sources.nccl_variables;
  const bool is_guest = offer.gpus == 0 && std::filesystem::exists(sources.guest_device);
  if (!(offer.gpus > 0 || is_guest) || !offer.has_cuda_trainer || !may_take_gpus(flags)) {
    return offer;
  }
  sources.on_probe();
  try {
    offer.probe = probe_gpus(trainer, sources.probe_limit);
    if (is_guest) offer.gpus = static_cast<std::int64_t>(offer.probe->devices.size());
  } catch (const Error& error) {
    offer.probe_error = error;
  }
  return offer;
}

MachineInfo describe_machine(const ComparePlan& plan, const Offer& offer) {
  MachineInfo machine;
  machine.cpu_count = offer.cpus;
  if (!plan.on_gpus) {
    describe_threads(plan, machine);
  } else if (offer.probe) {
    describe_gpus(*offer.probe, plan, machine);
  }
  return machine;
}

}  // namespace ddpprof
