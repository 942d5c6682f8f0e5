#include "trainers/workloads/safetensors.h"

#include "profiler/trace/error.h"
#include "tests/trainers/safetensors_file.h"

#include <filesystem>
#include <random>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

std::span<const std::byte> as_content(const std::string& file) {
  return std::as_bytes(std::span(file));
}

// What reading it complains of; empty when it can be read.
std::string problem(const std::string& file) {
  try {
    read_safetensors(as_content(file), "data");
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.subject, "data");
    return error.problem;
  }
}

const std::string& two_tensors() {
  static const std::string kFile =
      safetensors_file({{"images", "F32", "[2, 3]", bytes_of<float>({0, 1, 2, 3, 4, 5})},
                        {"labels", "I64", "[2]", bytes_of<std::int64_t>({7, 8})}});
  return kFile;
}

TEST(Safetensors, AreReadByName) {
  const StoredTensors tensors = read_safetensors(as_content(two_tensors()), "data");
  ASSERT_EQ(tensors.size(), 2U) << "__metadata__ is none";
  const StoredTensor& images = tensors.at("images");
  EXPECT_EQ(images.type, "F32");
  EXPECT_EQ(images.shape, (std::vector<std::int64_t>{2, 3}));
  ASSERT_EQ(images.bytes.size(), 24U);
  const StoredTensor& labels = tensors.at("labels");
  std::vector<std::int64_t> values(2);
  std::memcpy(values.data(), labels.bytes.data(), labels.bytes.size());
  EXPECT_EQ(values, (std::vector<std::int64_t>{7, 8}));
}

TEST(Safetensors, MayBeEmptyOrScalarsOrOfUnknownTypes) {
  const std::string file = safetensors_file({{"none", "F32", "[0, 9223372036854775807, 5]", ""},
                                             {"scalar", "U8", "[]", "x"},
                                             {"new", "F4", "[3]", "ab"}});
  const StoredTensors tensors = read_safetensors(as_content(file), "data");
  EXPECT_EQ(tensors.at("none").bytes.size(), 0U);
  EXPECT_EQ(tensors.at("scalar").bytes.size(), 1U);
  EXPECT_EQ(tensors.at("new").bytes.size(), 2U);
}

TEST(Safetensors, AreRefusedWhenAnythingDoesNotFit) {
  const auto entry = [](const std::string& dtype, const std::string& shape,
                        const std::string& offsets) {
    return problem(safetensors_file(R"({"x": {"dtype": ")" + dtype + R"(", "shape": )" + shape +
                                        R"(, "data_offsets": )" + offsets + "}}",
                                    std::string(8, '\0')));
  };
  EXPECT_EQ(entry("F32", "[2]", "[0, 8]"), "");
  EXPECT_NE(entry("F32", "[2]", "[0, 9]"), "") << "behind the end";
  EXPECT_NE(entry("F32", "[2]", "[0, 7]"), "");
  EXPECT_NE(entry("F32", "[3]", "[0, 8]"), "");
  EXPECT_NE(entry("F64", "[2]", "[0, 8]"), "");
  EXPECT_NE(entry("F32", "[-2]", "[0, 8]"), "");
  EXPECT_NE(entry("F32", "[-1, -2]", "[0, 8]"), "");
  EXPECT_NE(entry("F32", "[4611686018427387904, 4, 2]", "[0, 8]"), "") << "more than 64 bits";
  EXPECT_NE(entry("F32", "[18446744073709551615]", "[0, 8]"), "");
  EXPECT_NE(entry("F32", "[2]", "[8, 0]"), "");
  EXPECT_NE(entry("F32", "[2]", "[-8, 0]"), "");
  EXPECT_NE(entry("F32", "[2]", "[0]"), "");
  EXPECT_NE(entry("F32", "[2]", "[0, 4, 8]"), "");
  EXPECT_NE(entry("F32", "2", "[0, 8]"), "");
  EXPECT_NE(entry("F32", "[2]", "[9223372036854775807, 9223372036854775807]"), "");
  EXPECT_NE(entry("new", "[2]", "[0, 9]"), "") << "whatever its type";
}

TEST(Safetensors, AreRefusedWithoutAHeader) {
  EXPECT_NE(problem(""), "");
  EXPECT_NE(problem("1234567"), "");
  EXPECT_NE(problem("a text that is long enough"), "");
  EXPECT_NE(problem(std::string(8, '\xff')), "");
  EXPECT_NE(problem(std::string(8, '\0')), "") << "an empty header is no JSON";
  EXPECT_NE(problem(safetensors_file("[]", "")), "");
  EXPECT_NE(problem(safetensors_file(R"({"x": 1})", "")), "");
  EXPECT_NE(problem(safetensors_file(R"({"x": {"dtype": "F32"}})", "")), "");
  EXPECT_EQ(problem(safetensors_file("{}   ", "")), "") << "padded with spaces";
}

// Whatever is cut off or changed, it is read or refused, and nothing outside is looked at.
TEST(Safetensors, SurviveAnyDamage) {
  for (std::size_t length = 0; length < two_tensors().size(); ++length) {
    EXPECT_NE(problem(two_tensors().substr(0, length)), "") << length;
  }
  std::minstd_rand random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string file = two_tensors();
    for (int k = 0; k < 3; ++k) {
      file[random() % file.size()] = static_cast<char>(random() % 256);
    }
    try {
      const auto content = as_content(file);
      for (const auto& [name, tensor] : read_safetensors(content, "data")) {
        EXPECT_LE(tensor.bytes.data() + tensor.bytes.size(), content.data() + content.size());
      }
    } catch (const Error&) {
    }
  }
}

TEST(MappedFile, SaysWhatItCannotRead) {
  EXPECT_THROW(MappedFile("/nowhere/data.safetensors"), Error);
  EXPECT_THROW(MappedFile(std::filesystem::temp_directory_path()), Error);
  EXPECT_EQ(MappedFile("/proc/self/status").content().size(), 0U) << "it has no size";
}

TEST(ShapeText, IsAsPythonWritesIt) {
  EXPECT_EQ(shape_text({}), "()");
  EXPECT_EQ(shape_text(std::vector<std::int64_t>{3}), "(3,)");
  EXPECT_EQ(shape_text(std::vector<std::int64_t>{3, 4}), "(3, 4)");
}

}  // namespace
}  // namespace ddpprof::test
