#include "trainers/workloads/data_file.h"

#include "profiler/formats/file.h"
#include "profiler/trace/error.h"
#include "tests/trainers/safetensors_file.h"
#include "tests/trainers/trainer_process.h"

#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

const std::vector<DataField>& fields() {
  static const std::vector<DataField> kFields = {
      {.name = "images", .shape = {2}, .type = at::kFloat, .below = {}},
      {.name = "labels", .shape = {}, .type = at::kLong, .below = 10}};
  return kFields;
}

const Entry kImages = {"images", "F32", "[3, 2]", bytes_of<float>({0, 1, 2, 3, 4, 5})};
const Entry kLabels = {"labels", "I64", "[3]", bytes_of<std::int64_t>({7, 8, 9})};

class DataFile : public testing::Test {
 protected:
  DataSet read(const std::string& file, const std::vector<DataField>& wanted = fields()) {
    const auto path = folder_.path() / "data.safetensors";
    write_file(path, file);
    return read_data_file(path, wanted, "digits");
  }

  // The problem and the hint.
  std::string complaint(const std::vector<Entry>& entries) {
    try {
      read(safetensors_file(entries));
      return {};
    } catch (const Error& error) {
      return error.problem + " | " + error.hint;
    }
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(DataFile, GivesTheSamplesThatAreAskedFor) {
  const DataSet data = read(safetensors_file({kLabels, {"more", "U8", "[1]", "x"}, kImages}));
  EXPECT_EQ(data.samples_count, 3);
  const Batch batch = data.fetch(std::vector<std::int64_t>{2, 0, 2});
  ASSERT_EQ(batch.inputs.size(), 1U);
  EXPECT_TRUE(at::equal(batch.inputs[0], at::tensor({4, 5, 0, 1, 4, 5}, at::kFloat).view({3, 2})));
  EXPECT_TRUE(at::equal(batch.target, at::tensor({9, 7, 9}, at::kLong)));
}

TEST_F(DataFile, GivesTheTypeTheWorkloadComputesIn) {
  std::vector<DataField> wanted = fields();
  wanted[0].type = at::kDouble;
  const Batch batch =
      read(safetensors_file({kImages, kLabels}), wanted).fetch(std::vector<std::int64_t>{1});
  EXPECT_TRUE(at::equal(batch.inputs[0], at::tensor({2, 3}, at::kDouble).view({1, 2})));
}

// The length of a header is what its padding makes it.
TEST_F(DataFile, NeedNotBeAligned) {
  for (const char* name : {"a", "ab", "abc"}) {
    const DataSet data = read(safetensors_file({{name, "U8", "[1]", "x"}, kImages, kLabels}));
    EXPECT_TRUE(
        at::equal(data.fetch(std::vector<std::int64_t>{1}).target, at::tensor({8}, at::kLong)));
  }
}

TEST_F(DataFile, SaysWhatItHasAndWhatIsWanted) {
  EXPECT_EQ(complaint({kImages}),
            "has no tensor labels, but images | digits wants labels: I64 (samples,)");
  EXPECT_EQ(complaint({{"images", "F64", "[1, 2]", std::string(16, '\0')}, kLabels}),
            "its tensor images is F64 (1, 2) | digits wants F32 (samples, 2)");
  EXPECT_EQ(complaint({{"images", "F32", "[2, 3]", kImages.bytes}, kLabels}),
            "its tensor images is F32 (2, 3) | digits wants F32 (samples, 2)");
  EXPECT_EQ(complaint({{"images", "F32", "[]", std::string(4, '\0')}, kLabels}),
            "its tensor images is F32 () | digits wants F32 (samples, 2)");
  EXPECT_EQ(
      complaint({kImages, {"labels", "I64", "[1]", std::string(8, '\0')}}),
      "has 3 samples in images, and 1 in labels | the first dimension of each is the samples");
}

TEST_F(DataFile, RefusesValuesOutOfRangeWhenTheyAreFetched) {
  const DataSet data = read(
      safetensors_file({kImages, {"labels", "I64", "[3]", bytes_of<std::int64_t>({0, 10, -1})}}));
  EXPECT_NO_THROW(data.fetch(std::vector<std::int64_t>{0}));
  EXPECT_THROW(data.fetch(std::vector<std::int64_t>{2}), Error);
  try {
    data.fetch(std::vector<std::int64_t>{0, 1});
    FAIL() << "10 is not below 10";
  } catch (const Error& error) {
    EXPECT_EQ(error.problem, "sample 1 has 10 in labels");
    EXPECT_EQ(error.hint, "values are from 0 to 9");
  }
}

}  // namespace
}  // namespace ddpprof::test
