#include "trainers/common/checkpoint.h"

#include "profiler/formats/file.h"
#include "profiler/formats/gzip.h"
#include "profiler/trace/error.h"
#include "trainers/workloads/safetensors.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

namespace ddpprof {
namespace {

constexpr const char* kVersionKey = "ddpprof_checkpoint";
constexpr const char* kVersion = "1";
constexpr const char* kStepKey = "step";
constexpr const char* kLayoutKey = "layout";
constexpr const char* kChecksumKey = "crc32";
constexpr std::string_view kNoChecksum = "00000000";  // what the checksum is made over
constexpr const char* kNotOurs = "name a file that --checkpoint wrote";

constexpr std::pair<at::ScalarType, const char*> kTypes[] = {
    {at::kFloat, "F32"}, {at::kDouble, "F64"}, {at::kHalf, "F16"}, {at::kBFloat16, "BF16"},
    {at::kLong, "I64"},  {at::kInt, "I32"},    {at::kByte, "U8"},  {at::kBool, "BOOL"}};

std::string type_name(const at::Tensor& tensor) {
  for (const auto& [type, name] : kTypes) {
    if (tensor.scalar_type() == type) {
      return name;
    }
  }
  throw Error("checkpoint", "a tensor of type " + std::string(c10::toString(tensor.scalar_type())),
              "please report it");
}

std::string hex(std::uint32_t value) {
  char text[8];
  for (int i = 7; i >= 0; --i, value >>= 4U) {
    text[i] = "0123456789abcdef"[value & 15U];
  }
  return {text, sizeof text};
}

std::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Where the head says its checksum. What stands before it holds no such key: names are sorted.
std::size_t find_checksum(std::string_view head, const std::string& subject) {
  const std::string mark = "\"" + std::string(kChecksumKey) + "\": \"";
  const std::size_t at = head.find(mark);
  if (at == head.npos || at + mark.size() + kNoChecksum.size() > head.size()) {
    throw Error(subject, "has no checksum", kNotOurs);
  }
  return at + mark.size();
}

void check_sum(std::string_view content, const std::string& subject) {
  const std::size_t at = find_checksum(content, subject);
  std::uint32_t sum = crc32_of(content.substr(0, at));
  sum = crc32_of(kNoChecksum, sum);
  sum = crc32_of(content.substr(at + kNoChecksum.size()), sum);
  if (content.substr(at, kNoChecksum.size()) != hex(sum)) {
    throw Error(subject, "is damaged: its checksum is not that of its content",
                "resume from an older checkpoint");
  }
}

[[noreturn]] void fail_identity(const std::string& subject, const std::string& setting,
                                const std::string& value) {
  throw UsageError(subject, "is of a run with " + setting + ", and this has " + value,
                   "give " + setting + ", or start anew");
}

void check_identity(const std::map<std::string, std::string>& metadata, const RunState& state,
                    const std::string& subject) {
  for (const auto& [flag, value] : state.identity) {
    const auto found = metadata.find(flag);
    if (found == metadata.end()) {
      throw Error(subject, "does not say of what run it is", kNotOurs);
    }
    if (found->second != value) {
      std::string setting = flag;
      setting += " ";
      setting += found->second;
      fail_identity(subject, setting, value);
    }
  }
}

bool fits(const StoredTensor& stored, const at::Tensor& tensor) {
  return stored.type == type_name(tensor) && tensor.sizes().equals(stored.shape);
}

// All of them, or nothing where one is missing or different.
bool has_all(const StoredTensors& stored, const NamedTensors& wanted) {
  for (std::size_t i = 0; i < wanted.names.size(); ++i) {
    const auto found = stored.find(wanted.names[i]);
    if (found == stored.end() || !fits(found->second, wanted.tensors[i])) {
      return false;
    }
  }
  return true;
}

void need_all(const StoredTensors& stored, const NamedTensors& wanted, const std::string& subject) {
  for (std::size_t i = 0; i < wanted.names.size(); ++i) {
    const auto found = stored.find(wanted.names[i]);
    if (found == stored.end()) {
      throw Error(subject, "has no " + wanted.names[i], "it is of another model or optimizer");
    }
    if (!fits(found->second, wanted.tensors[i])) {
      throw Error(subject,
                  wanted.names[i] + " is " + found->second.type + " " +
                      shape_text(found->second.shape) + ", and this run's is " +
                      type_name(wanted.tensors[i]) + " " + shape_text(wanted.tensors[i].sizes()),
                  "it is of another model or optimizer");
    }
  }
}

void put_back(const StoredTensors& stored, const NamedTensors& into) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < into.names.size(); ++i) {
    const StoredTensor& from = stored.at(into.names[i]);
    // Bytes in a file are aligned to nothing.
    const at::Tensor aligned =
        at::empty(into.tensors[i].sizes(), into.tensors[i].options().device(at::kCPU));
    if (!from.bytes.empty()) {
      std::memcpy(aligned.mutable_data_ptr(), from.bytes.data(), from.bytes.size());
    }
    at::Tensor(into.tensors[i]).copy_(aligned);
  }
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const RunState& state,
                      const std::function<void()>& halfway) {
  std::vector<at::Tensor> values;
  std::vector<TensorToStore> places;
  std::uint64_t bytes_count = 0;
  for (const NamedTensors* part : {&state.tensors, &state.random}) {
    for (std::size_t i = 0; i < part->names.size(); ++i) {
      const at::Tensor& value =
          values.emplace_back(part->tensors[i].detach().to(at::kCPU).contiguous());
      places.push_back({.name = part->names[i],
                        .type = type_name(value),
                        .shape = value.sizes().vec(),
                        .bytes = static_cast<std::int64_t>(value.nbytes())});
      bytes_count += value.nbytes();
    }
  }
  std::map<std::string, std::string> metadata(state.identity.begin(), state.identity.end());
  metadata[kVersionKey] = kVersion;
  metadata[kStepKey] = std::to_string(state.step);
  metadata[kLayoutKey] = state.layout;
  metadata[kChecksumKey] = kNoChecksum;
  std::string head = safetensors_head(metadata, places);
  std::uint32_t sum = crc32_of(head);
  for (const at::Tensor& value : values) {
    sum = crc32_of(bytes_of(value), sum);
  }
  head.replace(find_checksum(head, path.string()), kNoChecksum.size(), hex(sum));

  FileReplacement file(path);
  file.append(head);
  std::uint64_t written = 0;
  for (const at::Tensor& value : values) {
    file.append(bytes_of(value));
    const bool was_before = 2 * written < bytes_count;
    written += value.nbytes();
    if (halfway && was_before && 2 * written >= bytes_count) {
      halfway();
    }
  }
  file.commit();
}

bool read_checkpoint(const std::filesystem::path& path, RunState& state) {
  const std::string subject = "--resume " + path.string();
  const MappedFile file(path);
  const StoredTensors stored = read_safetensors(file.content(), subject);
  const auto metadata = read_safetensors_metadata(file.content(), subject);
  const auto version = metadata.find(kVersionKey);
  if (version == metadata.end()) {
    throw Error(subject, "is no checkpoint of ddpprof", kNotOurs);
  }
  if (version->second != kVersion) {
    throw Error(subject, "is of version " + version->second + ", and this reads version 1",
                "resume with the ddpprof that wrote it");
  }
  check_sum(text_of(file.content()), subject);
  check_identity(metadata, state, subject);
  need_all(stored, state.tensors, subject);
  const auto step = metadata.find(kStepKey);
  const std::string digits = step == metadata.end() ? "" : step->second;
  const auto [end, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), state.step);
  if (code != std::errc{} || end != digits.data() + digits.size() || state.step < 0) {
    throw Error(subject, "says no step that it is of", kNotOurs);
  }
  const auto layout = metadata.find(kLayoutKey);
  state.layout = layout == metadata.end() ? "" : layout->second;
  put_back(stored, state.tensors);
  const bool has_random = has_all(stored, state.random);
  if (has_random) {
    put_back(stored, state.random);
  }
  return has_random;
}

}  // namespace ddpprof
