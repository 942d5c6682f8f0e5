#include "trainers/workloads/data_file.h"

#include "profiler/trace/error.h"
#include "trainers/workloads/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include <ATen/ops/empty.h>

namespace ddpprof {
namespace {

static_assert(std::endian::native == std::endian::little, "as safetensors files are");

struct Column {
  DataField field;
  std::span<const std::byte> bytes;
  std::int64_t row_bytes = 0;
};

struct Table {
  explicit Table(const std::filesystem::path& path) : subject(path.string()), file(path) {}

  std::string subject;
  MappedFile file;
  std::vector<Column> columns;
  std::int64_t samples_count = 0;
};

bool is_integer(const DataField& field) { return field.type == at::kLong; }

// "I64 (samples, 128)"
std::string wanted_text(const DataField& field) {
  std::string text = is_integer(field) ? "I64 (samples" : "F32 (samples";
  for (const std::int64_t length : field.shape) {
    text += ", " + std::to_string(length);
  }
  return text + (field.shape.empty() ? ",)" : ")");
}

std::string names_of(const StoredTensors& tensors) {
  constexpr std::size_t kMost = 8;
  std::string names;
  std::size_t count = 0;
  for (const auto& [name, tensor] : tensors) {
    if (++count > kMost) {
      return names + ", …";
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "nothing" : names;
}

const StoredTensor& find_tensor(const StoredTensors& tensors, const DataField& field,
                                const std::string& subject, const std::string& workload) {
  const auto found = tensors.find(field.name);
  if (found == tensors.end()) {
    throw Error(subject, "has no tensor " + field.name + ", but " + names_of(tensors),
                workload + " wants " + field.name + ": " + wanted_text(field));
  }
  const StoredTensor& tensor = found->second;
  const bool fits = tensor.type == (is_integer(field) ? "I64" : "F32") &&
                    tensor.shape.size() == field.shape.size() + 1 &&
                    std::equal(field.shape.begin(), field.shape.end(), tensor.shape.begin() + 1);
  if (!fits) {
    throw Error(subject,
                "its tensor " + field.name + " is " + tensor.type + " " + shape_text(tensor.shape),
                workload + " wants " + wanted_text(field));
  }
  return tensor;
}

void check_values(const Table& table, const Column& column, std::int64_t sample,
                  std::span<const std::int64_t> values) {
  const auto wrong = std::ranges::find_if(
      values, [&](std::int64_t value) { return value < 0 || value >= *column.field.below; });
  if (wrong != values.end()) {
    throw Error(table.subject,
                "sample " + std::to_string(sample) + " has " + std::to_string(*wrong) + " in " +
                    column.field.name,
                "values are from 0 to " + std::to_string(*column.field.below - 1));
  }
}

// Shape: (B, ...)
at::Tensor gather(const Table& table, const Column& column, std::span<const std::int64_t> samples) {
  std::vector<std::int64_t> shape = {static_cast<std::int64_t>(samples.size())};
  shape.insert(shape.end(), column.field.shape.begin(), column.field.shape.end());
  at::Tensor rows = at::empty(shape, is_integer(column.field) ? at::kLong : at::kFloat);
  auto* out = static_cast<std::byte*>(rows.data_ptr());
  const auto row_bytes = static_cast<std::size_t>(column.row_bytes);
  for (const std::int64_t sample : samples) {
    std::memcpy(out, column.bytes.subspan(static_cast<std::size_t>(sample) * row_bytes).data(),
                row_bytes);
    if (column.field.below) {
      check_values(table, column, sample,
                   {reinterpret_cast<const std::int64_t*>(out), row_bytes / sizeof(std::int64_t)});
    }
    out += row_bytes;
  }
  return rows.to(column.field.type);
}

}  // namespace

DataSet read_data_file(const std::filesystem::path& path, std::span<const DataField> fields,
                       const std::string& workload) {
  const auto table = std::make_shared<Table>(path);
  const StoredTensors tensors = read_safetensors(table->file.content(), table->subject);
  for (const DataField& field : fields) {
    const StoredTensor& tensor = find_tensor(tensors, field, table->subject, workload);
    const std::int64_t width = is_integer(field) ? sizeof(std::int64_t) : sizeof(float);
    table->columns.push_back({.field = field,
                              .bytes = tensor.bytes,
                              .row_bytes = std::accumulate(field.shape.begin(), field.shape.end(),
                                                           width, std::multiplies<>())});
    if (table->columns.size() > 1 && tensor.shape[0] != table->samples_count) {
      throw Error(table->subject,
                  "has " + std::to_string(table->samples_count) + " samples in " + fields[0].name +
                      ", and " + std::to_string(tensor.shape[0]) + " in " + field.name,
                  "the first dimension of each is the samples");
    }
    table->samples_count = tensor.shape[0];
  }
  return {.samples_count = table->samples_count,
          .fetch = [table](std::span<const std::int64_t> samples) {
            Batch batch;
            for (const Column& column : table->columns) {
              batch.inputs.push_back(gather(*table, column, samples));
            }
            batch.target = std::move(batch.inputs.back());
            batch.inputs.pop_back();
            return batch;
          }};
}

}  // namespace ddpprof
