#include "tests/formats/perfetto_decoder.h"

#include <functional>
#include <stdexcept>

namespace ddpprof::test {
namespace {

struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;   // varint or fixed64
  std::string_view content;  // length-delimited
};

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (bytes.empty()) throw std::runtime_error("cut off in a number");
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  throw std::runtime_error("a number of more than 64 bits");
}

std::vector<Field> fields_of(std::string_view bytes) {
  std::vector<Field> fields;
  while (!bytes.empty()) {
    const std::uint64_t key = take_varint(bytes);
    Field& field = fields.emplace_back();
    field.number = static_cast<std::uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        field.value = take_varint(bytes);
        break;
      case 1:
        if (bytes.size() < 8) throw std::runtime_error("cut off in a fixed64");
        for (unsigned i = 0; i < 8; ++i) {
          field.value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
        }
        bytes.remove_prefix(8);
        break;
      case 2: {
        const std::uint64_t size = take_varint(bytes);
        if (size > bytes.size()) throw std::runtime_error("cut off in a message");
        field.content = bytes.substr(0, size);
        bytes.remove_prefix(size);
        break;
      }
      default:
        throw std::runtime_error("a wire type nobody writes");
    }
  }
  return fields;
}

class Decoder {
 public:
  DecodedTrace decode(std::string_view bytes) {
    for (const Field& packet : fields_of(bytes)) {
      expect(packet.number == 1, "the file holds something else than packets");
      read_packet(packet.content);
    }
    return std::move(trace_);
  }

 private:
  using Texts = std::map<std::uint64_t, std::string>;

  void expect(bool holds, const std::string& problem) {
    if (!holds) trace_.problems.push_back(problem);
  }

  void read_packet(std::string_view content) {
    const std::vector<Field> fields = fields_of(content);
    std::int64_t time_ns = 0;
    bool has_sequence = false;
    for (const Field& field : fields) {
      if (field.number == 8) time_ns = static_cast<std::int64_t>(field.value);
      if (field.number == 10) has_sequence = field.value != 0;
      if (field.number == 12) read_interned(field.content);  // holds for the packet itself, too
      if (field.number == 13) trace_.flags.push_back(field.value);
    }
    expect(has_sequence, "a packet of no sequence");
    for (const Field& field : fields) {
      if (field.number == 60) read_track(field.content);
      if (field.number == 11) read_event(field.content, time_ns);
    }
  }

  void read_interned(std::string_view content) {
    for (const Field& entry : fields_of(content)) {
      std::uint64_t number = 0;
      std::string text;
      for (const Field& field : fields_of(entry.content)) {
        if (field.number == 1) number = field.value;
        if (field.number == 2) text = field.content;
      }
      expect(number != 0, "an interned text without a number");
      expect(texts_[entry.number].emplace(number, text).second, "a number interned twice");
    }
  }

  std::string text(std::uint32_t table, std::uint64_t number) {
    const auto found = texts_[table].find(number);
    expect(found != texts_[table].end(), "a text used before it was interned");
    return found == texts_[table].end() ? "" : found->second;
  }

  void read_track(std::string_view content) {
    DecodedTrack track;
    std::uint64_t uuid = 0, process_ordering = 0;
    for (const Field& field : fields_of(content)) {
      if (field.number == 1) uuid = field.value;
      if (field.number == 19) process_ordering = field.value;
      if (field.number == 2) track.name = field.content;
      if (field.number == 5) track.parent = field.value;
      if (field.number == 12) track.rank = field.value;
      if (field.number == 14) track.description = field.content;
      if (field.number == 3) {
        for (const Field& part : fields_of(field.content)) {
          if (part.number == 1) track.pid = part.value;
          if (part.number == 6) track.name = part.content;
        }
      }
      if (field.number == 8) track.unit = fields_of(field.content).front().value;
    }
    if (uuid == 0) {
      trace_.orders_processes = process_ordering == 1;
      return;
    }
    expect(trace_.tracks.emplace(uuid, track).second, "a track without its own uuid");
    expect(track.pid != 0 || trace_.tracks.contains(track.parent), "a track before its process");
  }

  void read_event(std::string_view content, std::int64_t time_ns) {
    DecodedEvent event;
    event.time_ns = time_ns;
    for (const Field& field : fields_of(content)) {
      if (field.number == 3) event.category = text(1, field.value);
      if (field.number == 9) event.type = field.value;
      if (field.number == 10) event.name = text(2, field.value);
      if (field.number == 11) event.track = field.value;
      if (field.number == 30) event.value = static_cast<std::int64_t>(field.value);
      if (field.number == 47) event.flows.push_back(field.value);
      if (field.number == 4) read_annotation(field.content, event);
    }
    expect(trace_.tracks.contains(event.track), "an event on a track nobody described");
    trace_.events.push_back(event);
  }

  void read_annotation(std::string_view content, DecodedEvent& event) {
    std::string name, value;
    for (const Field& field : fields_of(content)) {
      if (field.number == 1) name = text(3, field.value);
      if (field.number == 4) value = std::to_string(static_cast<std::int64_t>(field.value));
      if (field.number == 17) value = text(29, field.value);
    }
    event.annotations[name] = value;
  }

  DecodedTrace trace_;
  std::map<std::uint32_t, Texts> texts_;  // by field of InternedData
};

}  // namespace

DecodedTrace decode_perfetto(std::string_view bytes) { return Decoder().decode(bytes); }

}  // namespace ddpprof::test
