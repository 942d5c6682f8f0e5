#include "tools/compare/devices.h"

#include "reports/numbers.h"
#include "tools/launcher/link.h"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddpprof {
namespace {

// Up to these a GPU counts as free: a display, a monitor that looks in.
constexpr std::int64_t kFreeBytes = std::int64_t{1} << 30;
constexpr double kFreeBusy = 0.05;

// "compare on the CPU: --device cpu --workers 2".
std::string on_cpu(const DeviceUse& use) {
  const std::string workers =
      use.default_devices > 1 ? fmt::format(" --workers {}", use.default_devices) : "";
  return fmt::format("{} on the CPU: --device cpu{}", use.verb, workers);
}

std::string gpus_text(std::int64_t count) {
  return fmt::format("{} NVIDIA GPU{}", count, count == 1 ? "" : "s");
}

// Where nobody was asked the driver's word counts.
std::int64_t usable_gpus(const Offer& offer) {
  return offer.probe ? static_cast<std::int64_t>(offer.probe->devices.size()) : offer.gpus;
}

// "CUDA_VISIBLE_DEVICES=0 leaves 1 of this machine's 2 NVIDIA GPUs".
std::string few_gpus_text(const Offer& offer) {
  const std::int64_t usable = usable_gpus(offer);
  if (usable >= offer.gpus) return "this machine has " + gpus_text(usable);
  const std::string who =
      offer.visible_devices ? fmt::format("CUDA_VISIBLE_DEVICES={} leaves", *offer.visible_devices)
                            : std::string("CUDA can use");
  return fmt::format("{} {} of this machine's {}", who,
                     usable == 0 ? std::string("none") : fmt::format("{}", usable),
                     gpus_text(offer.gpus));
}

std::string few_gpus_hint(const DeviceFlags& flags, const Offer& offer, const DeviceUse& use) {
  std::string hint;
  if (usable_gpus(offer) < offer.gpus) {
    hint = offer.visible_devices ? "unset CUDA_VISIBLE_DEVICES or name more GPUs in it, "
                                 : "see what nvidia-smi says of them, ";
  }
  if (usable_gpus(offer) > 0) hint += flags.gpus ? "ask for fewer, " : "take --gpus 1, ";
  return fmt::format("{}or {}", hint, on_cpu(use));
}

std::string probe_problem(const Offer& offer) {
  if (!offer.visible_devices) return offer.probe_error->problem;
  return fmt::format("{} (CUDA_VISIBLE_DEVICES={})", offer.probe_error->problem,
                     *offer.visible_devices);
}

// How many GPUs were asked for, and proof that they are there.
std::int64_t needed_gpus(const DeviceFlags& flags, const Offer& offer, const DeviceUse& use) {
  const std::int64_t asked = flags.gpus.value_or(use.default_devices);
  const std::string subject =
      flags.gpus ? fmt::format("--gpus {}", asked) : std::string("--device cuda");
  if (offer.gpus == 0) {
    throw Error(
        subject, "this machine shows no NVIDIA GPU",
        fmt::format("to {}; if there are GPUs, check that nvidia-smi lists them", on_cpu(use)));
  }
  if (offer.probe_error) {
    throw Error(subject, "the GPUs cannot be used: " + probe_problem(offer),
                offer.probe_error->hint);
  }
  if (usable_gpus(offer) < asked) {
    throw Error(subject, few_gpus_text(offer), few_gpus_hint(flags, offer, use));
  }
  if (!offer.has_cuda_trainer) {
    throw Error(subject, "this build of ddpprof has no trainer for GPUs (ddpprof-train-cuda)",
                fmt::format("to {}", on_cpu(use)));
  }
  return asked;
}

// Why a run for which nobody chose devices is one on the CPU; empty when it is not.
std::string why_cpu_by_default(const Offer& offer, const DeviceUse& use) {
  if (offer.gpus == 0) return "No GPU here";
  if (!offer.has_cuda_trainer) return "This build has no trainer for GPUs";
  if (offer.probe_error) {
    return fmt::format("{} here, but they cannot be used ({})", gpus_text(offer.gpus),
                       probe_problem(offer));
  }
  const std::int64_t usable = usable_gpus(offer);
  if (usable >= use.default_devices) return "";
  std::string few = usable < offer.gpus ? few_gpus_text(offer) : std::string();
  if (usable == 0) return few;
  return (few.empty() ? "One GPU" : few + ", and one") +
         fmt::format(" cannot show DP or DDP at work (--gpus 1 {} on it anyway)", use.third_person);
}

std::string why_cpu_as_asked(const DeviceFlags& flags, const Offer& offer) {
  if (offer.gpus == 0) return "No GPU here";
  if (flags.device || !offer.has_cuda_trainer) return "As asked";
  return fmt::format("{} here (--gpus), but --workers is for the CPU", gpus_text(offer.gpus));
}

std::string name_of(const DeviceProbe& gpu, std::size_t index) {
  return fmt::format("cuda:{}", gpu.device.number.value_or(static_cast<std::int32_t>(index)));
}

// "a, b and c".
std::string listed(const std::vector<std::string>& words) {
  if (words.size() == 1) return words.back();
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

// "cuda:0 and cuda:1 are NVIDIA H200", "cuda:2 is NVIDIA L4"; one part when all are alike.
std::vector<std::string> kinds_of(std::span<const DeviceProbe> gpus) {
  std::vector<std::string> models, parts;
  for (const DeviceProbe& gpu : gpus) {
    if (std::ranges::find(models, gpu.device.name) == models.end()) {
      models.push_back(gpu.device.name);
    }
  }
  for (const std::string& model : models) {
    std::vector<std::string> alike;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (gpus[i].device.name == model) alike.push_back(name_of(gpus[i], i));
    }
    parts.push_back(
        fmt::format("{} {} {}", listed(alike), alike.size() == 1 ? "is" : "are", model));
  }
  return parts;
}

// The entry of CUDA_VISIBLE_DEVICES that a GPU is; empty when it has none.
std::string entry_of(const std::string& visible, std::int32_t number) {
  std::size_t begin = 0;
  for (; number > 0; --number) {
    begin = visible.find(',', begin);
    if (begin == std::string::npos) return "";
    ++begin;
  }
  return visible.substr(begin, visible.find(',', begin) - begin);
}

std::string visible_note(const std::string& visible, std::span<const DeviceProbe> gpus) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::int32_t number = gpus[i].device.number.value_or(static_cast<std::int32_t>(i));
    const std::string entry = entry_of(visible, number);
    if (!entry.empty()) parts.push_back(fmt::format("{} is GPU {}", name_of(gpus[i], i), entry));
  }
  return fmt::format("CUDA_VISIBLE_DEVICES={} decides which GPUs are used{}{}.", visible,
                     parts.empty() ? "" : ": ", fmt::join(parts, ", "));
}

// Empty when nobody else uses the GPU, as far as the driver tells.
std::string busy_note(const DeviceProbe& gpu, std::size_t index) {
  const bool is_held = gpu.used_bytes.value_or(0) > kFreeBytes;
  const bool is_busy = gpu.busy.value_or(0) >= kFreeBusy;
  if (!is_held && !is_busy) return "";
  std::vector<std::string> uses;
  if (is_held)
    uses.push_back(fmt::format("{:.1f} GiB of its memory held",
                               static_cast<double>(*gpu.used_bytes) / kBytesPerGib));
  if (is_busy) uses.push_back(fmt::format("busy {:.0f} % of the time", *gpu.busy * 100));
  return fmt::format("Other programs use {} ({}; {}): {}", name_of(gpu, index), gpu.device.name,
                     fmt::join(uses, ", "),
                     is_busy ? "steps take longer and vary more than on a free GPU."
                             : "memory may run short, and steps take longer when they compute.");
}

}  // namespace

void check_device_flags(const DeviceFlags& flags) {
  if (flags.device && *flags.device != "cpu" && *flags.device != "cuda") {
    throw UsageError("--device " + *flags.device, "unknown device", "known are cpu, cuda");
  }
  if (flags.gpus && flags.device == "cpu") {
    throw UsageError("--gpus", "contradicts --device cpu", "use --workers N with --device cpu");
  }
  if (flags.workers && (flags.gpus || flags.device == "cuda")) {
    throw UsageError("--workers", fmt::format("is for the CPU and contradicts {}",
                                              flags.gpus ? "--gpus" : "--device cuda"));
  }
  for (const auto& [flag, value] :
       {std::pair{"--gpus", flags.gpus}, {"--workers", flags.workers}}) {
    if (value && *value < 1) {
      throw UsageError(fmt::format("{} {}", flag, *value), "must be at least 1");
    }
  }
  if (flags.link) check_link(*flags.link);
}

bool may_take_gpus(const DeviceFlags& flags) {
  return flags.gpus || flags.device == "cuda" || (!flags.device && !flags.workers);
}

DeviceChoice choose_devices(const DeviceFlags& flags, const Offer& offer, const DeviceUse& use) {
  if (flags.gpus || flags.device == "cuda") {
    return {.on_gpus = true, .count = needed_gpus(flags, offer, use), .why_cpu = {}};
  }
  if (!may_take_gpus(flags)) {
    return {.on_gpus = false,
            .count = flags.workers.value_or(use.default_devices),
            .why_cpu = why_cpu_as_asked(flags, offer)};
  }
  std::string why_cpu = why_cpu_by_default(offer, use);
  return {.on_gpus = why_cpu.empty(), .count = use.default_devices, .why_cpu = std::move(why_cpu)};
}

std::map<std::string, std::string> chosen_link(
    const std::string& link, std::int64_t devices,
    const std::map<std::string, std::string>& nccl_variables) {
  if (devices < 2) {
    throw UsageError("--link " + link, "one GPU is linked to no other",
                     "take --gpus 2 or more, or leave it out");
  }
  return link_environment(link, nccl_variables);
}

std::vector<std::string> gpu_notes(const CompareOptions& options, const Offer& offer,
                                   const ComparePlan& plan) {
  if (!offer.probe) return {};
  std::vector<std::string> notes;
  const auto all = static_cast<std::int64_t>(offer.probe->devices.size());
  const std::span gpus =
      std::span(offer.probe->devices).first(static_cast<std::size_t>(std::min(plan.devices, all)));
  if (!options.gpus && all > plan.devices) {
    const bool divides = plan.global_batch % (all * options.micro_steps.value_or(1)) == 0;
    notes.push_back(fmt::format("{} GPUs here; comparing on {} ({}).", all, plan.devices,
                                divides ? fmt::format("--gpus {} for all", all)
                                        : std::string("--gpus N for another number")));
  }
  if (offer.visible_devices) notes.push_back(visible_note(*offer.visible_devices, gpus));
  const std::vector<std::string> kinds = kinds_of(gpus);
  if (kinds.size() > 1) {
    const bool has_single = std::ranges::any_of(
        plan.strategies, [](const StrategyPlan& strategy) { return strategy.key == "single"; });
    notes.push_back(
        fmt::format("{}: the slowest sets the pace of DP and DDP{}.", fmt::join(kinds, ", "),
                    has_single ? "; the one-device run uses " + name_of(gpus[0], 0) : ""));
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    std::string note = busy_note(gpus[i], i);
    if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace ddpprof
