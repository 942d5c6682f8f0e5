#include "trainers/workloads/safetensors.h"

#include "profiler/formats/json_value.h"
#include "profiler/formats/json_writer.h"
#include "profiler/trace/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ddpprof {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
// Source: safetensors/src/tensor.rs, MAX_HEADER_SIZE.
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;

constexpr const char* kHint =
    "safetensors.numpy.save_file() and safetensors.torch.save_file() write such files";

// Source: safetensors/src/tensor.rs, enum Dtype, those of whole bytes.
constexpr std::array<std::pair<std::string_view, std::int64_t>, 15> kTypeBytes = {{
    {"BOOL", 1},
    {"U8", 1},
    {"I8", 1},
    {"F8_E5M2", 1},
    {"F8_E4M3", 1},
    {"I16", 2},
    {"U16", 2},
    {"F16", 2},
    {"BF16", 2},
    {"I32", 4},
    {"U32", 4},
    {"F32", 4},
    {"I64", 8},
    {"U64", 8},
    {"F64", 8},
}};

std::optional<std::int64_t> bytes_of_type(std::string_view type) {
  const auto* const found =
      std::ranges::find(kTypeBytes, type, &std::pair<std::string_view, std::int64_t>::first);
  return found == kTypeBytes.end() ? std::nullopt : std::optional(found->second);
}

// Absent: more than 63 bits hold.
std::optional<std::int64_t> product(std::int64_t factor, std::span<const std::int64_t> shape) {
  for (const std::int64_t length : shape) {
    if (__builtin_mul_overflow(factor, length, &factor)) {
      // Something times nothing is nothing, whatever the other factors.
      return std::ranges::count(shape, 0) > 0 ? std::optional<std::int64_t>(0) : std::nullopt;
    }
  }
  return factor;
}

std::uint64_t read_length(std::span<const std::byte> content, const std::string& subject) {
  if (content.size() < kLengthBytes) {
    throw Error(subject, "is too short for a safetensors file", kHint);
  }
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i > 0; --i) {
    length = length << 8U | std::to_integer<std::uint64_t>(content[i - 1]);
  }
  if (length > content.size() - kLengthBytes || length > kMostHeaderBytes) {
    throw Error(subject,
                "is no safetensors file, or a part of one: it would have a header of " +
                    std::to_string(length) + " bytes",
                kHint);
  }
  return length;
}

StoredTensor read_tensor(const JsonObject& entry, std::span<const std::byte> data) {
  StoredTensor tensor;
  std::vector<std::int64_t> offsets;
  entry.read("dtype", tensor.type);
  entry.read("shape", tensor.shape);
  entry.read("data_offsets", offsets);
  if (std::ranges::any_of(tensor.shape, [](std::int64_t length) { return length < 0; })) {
    entry.fail("has a negative length in its shape " + shape_text(tensor.shape));
  }
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) {
    entry.fail("needs two data_offsets, begin and end");
  }
  if (static_cast<std::uint64_t>(offsets[1]) > data.size()) {
    entry.fail("ends at byte " + std::to_string(offsets[1]) + " of data, and the file has " +
                   std::to_string(data.size()),
               "the file was cut short: copy or write it again");
  }
  const std::int64_t length = offsets[1] - offsets[0];
  if (const auto width = bytes_of_type(tensor.type); width) {
    if (product(*width, tensor.shape) != length) {
      entry.fail("holds " + std::to_string(length) + " bytes, and " + tensor.type + " " +
                 shape_text(tensor.shape) + " has another length");
    }
  }
  tensor.bytes =
      data.subspan(static_cast<std::size_t>(offsets[0]), static_cast<std::size_t>(length));
  return tensor;
}

JsonValue read_header(std::span<const std::byte> content, std::uint64_t length,
                      const std::string& subject) {
  const auto header = content.subspan(kLengthBytes, length);
  return parse_json({reinterpret_cast<const char*>(header.data()), header.size()}, subject);
}

[[noreturn]] void fail_to_read(const std::filesystem::path& path, int error) {
  throw Error(path.string(), "cannot be read: " + std::generic_category().message(error),
              error == ENOENT ? "check the name" : "");
}

}  // namespace

StoredTensors read_safetensors(std::span<const std::byte> content, const std::string& subject) {
  const std::uint64_t length = read_length(content, subject);
  const JsonValue value = read_header(content, length, subject);
  const JsonObject tensors(value, subject, "the header");
  StoredTensors result;
  for (const std::string& name : tensors.keys()) {
    if (name != "__metadata__") {
      result.emplace(name,
                     read_tensor(tensors.object(name), content.subspan(kLengthBytes + length)));
    }
  }
  return result;
}

std::map<std::string, std::string> read_safetensors_metadata(std::span<const std::byte> content,
                                                             const std::string& subject) {
  const JsonValue value = read_header(content, read_length(content, subject), subject);
  const JsonObject header(value, subject, "the header");
  std::map<std::string, std::string> metadata;
  if (header.has("__metadata__")) {
    header.read("__metadata__", metadata);
  }
  return metadata;
}

std::string safetensors_head(const std::map<std::string, std::string>& metadata,
                             const std::vector<TensorToStore>& tensors) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("__metadata__");
  json.begin_object();
  for (const auto& [key, value] : metadata) {
    json.member(key, value);
  }
  json.end_object();
  std::int64_t begin = 0;
  for (const TensorToStore& tensor : tensors) {
    json.key(tensor.name);
    json.begin_object();
    json.member("dtype", tensor.type);
    json.key("shape");
    json.begin_array();
    for (const std::int64_t length : tensor.shape) {
      json.value(length);
    }
    json.end_array();
    json.key("data_offsets");
    json.begin_array();
    json.value(begin);
    json.value(begin += tensor.bytes);
    json.end_array();
    json.end_object();
  }
  json.end_object();
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  std::string head(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    head[i] = static_cast<char>(text.size() >> (8 * i));
  }
  return head + text;
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fail_to_read(path, errno);
  }
  struct stat status{};
  const bool is_file = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const bytes =
      is_file && size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
  const int error = errno;
  ::close(descriptor);
  if (!is_file) {
    throw Error(path.string(), "is not a regular file", kHint);
  }
  if (bytes == MAP_FAILED) {
    fail_to_read(path, error);
  }
  content_ = {static_cast<const std::byte*>(bytes), bytes == nullptr ? 0 : size};
}

MappedFile::~MappedFile() {
  if (!content_.empty()) {
    ::munmap(const_cast<std::byte*>(content_.data()), content_.size());
  }
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace ddpprof
