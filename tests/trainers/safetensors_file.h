// Small safetensors files for tests, right ones and wrong ones.
#pragma once

#include <cstring>
#include <string>
#include <vector>

namespace ddpprof::test {

// The values' bytes.
template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// The length of the header, the header and the data.
std::string safetensors_file(const std::string& header, const std::string& data);

struct Entry {
  std::string name, type, shape;  // shape: "[2, 3]"
  std::string bytes;
};
// Entries one after the other, as the libraries write them.
std::string safetensors_file(const std::vector<Entry>& entries);

}  // namespace ddpprof::test
