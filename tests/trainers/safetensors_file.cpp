#include "tests/trainers/safetensors_file.h"

#include <cstddef>

namespace ddpprof::test {

std::string safetensors_file(const std::string& header, const std::string& data) {
  std::string file;
  for (std::size_t i = 0; i < 8; ++i) {
    file += static_cast<char>(header.size() >> (8 * i) & 0xffU);
  }
  return file + header + data;
}

std::string safetensors_file(const std::vector<Entry>& entries) {
  std::string header = R"({"__metadata__": {"made": "by a test"})";
  std::string data;
  for (const Entry& entry : entries) {
    header += ", \"" + entry.name + R"(": {"dtype": ")" + entry.type + R"(", "shape": )" +
              entry.shape + R"(, "data_offsets": [)" + std::to_string(data.size());
    data += entry.bytes;
    header += ", " + std::to_string(data.size()) + "]}";
  }
  return safetensors_file(header + "}", data);
}

}  // namespace ddpprof::test
