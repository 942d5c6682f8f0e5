// Reads safetensors files, in which Python keeps named arrays: numpy and torch write them with
// safetensors.numpy.save_file() and safetensors.torch.save_file().
// Source: github.com/huggingface/safetensors, README.md, "Format": 8 bytes length n of the header
// (little-endian), n bytes JSON {NAME: {dtype, shape, data_offsets: [begin, end]}}, and the bytes,
// to which the offsets are relative. "__metadata__" is no tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof {

struct StoredTensor {
  std::string type;                  // as the format spells it: "F32", "I64"
  std::vector<std::int64_t> shape;   // none is negative
  std::span<const std::byte> bytes;  // row-major; aligned to nothing
};

using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

// Shape: what is in `content`, by name; it must outlive the result.
// Throws: Error, with `subject`, when anything does not fit: the header into the content, a
// tensor's place into it, its length to its type and shape. Of types that the format has not (yet),
// lengths are taken as they are.
StoredTensors read_safetensors(std::span<const std::byte> content, const std::string& subject);

// Texts that the writer added ("__metadata__"). Throws: as read_safetensors().
std::map<std::string, std::string> read_safetensors_metadata(std::span<const std::byte> content,
                                                             const std::string& subject);

struct TensorToStore {
  std::string name, type;
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
};

// What stands before the bytes of these tensors, which follow one another in this order.
std::string safetensors_head(const std::map<std::string, std::string>& metadata,
                             const std::vector<TensorToStore>& tensors);

// A file that is read only where somebody looks (memory-mapped). It must not be cut short
// meanwhile: a process that then looks behind its end gets SIGBUS.
class MappedFile {
 public:
  // Throws: Error when it cannot be read.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> content() const { return content_; }

 private:
  std::span<const std::byte> content_;
};

// "(1437, 64)"
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace ddpprof
