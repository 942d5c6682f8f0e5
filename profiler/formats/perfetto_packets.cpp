#include "profiler/formats/perfetto_packets.h"

namespace ddpprof {
namespace {

// Trace, TracePacket
constexpr std::uint32_t kPacket = 1, kTimestamp = 8, kSequence = 10, kTrackEvent = 11,
                        kInternedData = 12, kSequenceFlags = 13, kTrackDescriptor = 60,
                        kFirstPacket = 87;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;  // kSequenceFlags
constexpr std::uint64_t kOurSequence = 1;
// TrackDescriptor
constexpr std::uint32_t kUuid = 1, kTrackName = 2, kProcess = 3, kParent = 5, kCounter = 8,
                        kChildOrdering = 11, kRank = 12, kDescription = 14, kMerge = 15,
                        kProcessOrdering = 19;
constexpr std::uint64_t kExplicit = 3, kNeverMerge = 2;  // kChildOrdering; kMerge
constexpr std::uint64_t kProcessesExplicit = 1;          // kProcessOrdering, of the root track
constexpr std::uint64_t kRoot = 0;
// ProcessDescriptor, CounterDescriptor
constexpr std::uint32_t kPid = 1, kSortIndex = 3, kProcessName = 6, kUnit = 3;
// TrackEvent
constexpr std::uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kTrack = 11,
                        kCounterValue = 30, kFlow = 47;
constexpr std::uint64_t kBegin = 1, kEnd = 2, kCount = 4;  // kType
// DebugAnnotation; entries of InternedData
constexpr std::uint32_t kAnnotationName = 1, kInt = 4, kText = 17, kEntryNumber = 1, kEntryText = 2;

}  // namespace

std::uint64_t PerfettoPackets::Table::number(std::string_view text, std::string& interned) {
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  const std::uint64_t number = numbers_.size() + 1;
  numbers_.emplace(text, number);
  ProtobufWriter(interned).message(field_, [&](ProtobufWriter& entry) {
    entry.number(kEntryNumber, number);
    entry.text(kEntryText, text);
  });
  return number;
}

// Processes stand by kRank.
PerfettoPackets::PerfettoPackets() {
  std::string content;
  ProtobufWriter(content).message(kTrackDescriptor, [&](ProtobufWriter& descriptor) {
    descriptor.number(kUuid, kRoot);
    descriptor.number(kProcessOrdering, kProcessesExplicit);
  });
  add_packet(content);
}

template <typename Fill>
void PerfettoPackets::add_descriptor(const Fill& fill) {
  std::string content;
  ProtobufWriter(content).message(kTrackDescriptor, [&](ProtobufWriter& descriptor) {
    descriptor.number(kUuid, ++last_track_);
    descriptor.number(kRank, last_track_);
    fill(descriptor);
  });
  add_packet(content);
}

TrackId PerfettoPackets::add_process(std::int64_t id, std::string_view name,
                                     std::string_view description) {
  add_descriptor([&](ProtobufWriter& descriptor) {
    descriptor.message(kProcess, [&](ProtobufWriter& process) {
      process.number(kPid, static_cast<std::uint64_t>(id));
      process.number(kSortIndex, static_cast<std::uint64_t>(id));
      process.text(kProcessName, name);
    });
    descriptor.number(kChildOrdering, kExplicit);
    descriptor.text(kDescription, description);
  });
  return last_track_;
}

TrackId PerfettoPackets::add_track(TrackId process, std::string_view name) {
  add_descriptor([&](ProtobufWriter& descriptor) {
    descriptor.text(kTrackName, name);
    descriptor.number(kParent, process);
    descriptor.number(kMerge, kNeverMerge);
  });
  return last_track_;
}

TrackId PerfettoPackets::add_counter(TrackId process, std::string_view name, CounterUnit unit) {
  add_descriptor([&](ProtobufWriter& descriptor) {
    descriptor.text(kTrackName, name);
    descriptor.number(kParent, process);
    descriptor.message(kCounter, [&](ProtobufWriter& counter) {
      counter.number(kUnit, static_cast<std::uint64_t>(unit));
    });
  });
  return last_track_;
}

void PerfettoPackets::begin(TrackId track, std::int64_t time_ns, std::string_view name,
                            std::string_view category, std::span<const Annotation> annotations,
                            std::span<const std::uint64_t> flows) {
  event_.clear();
  ProtobufWriter event(event_);
  event.number(kCategory, categories_.number(category, interned_));
  for (const Annotation& annotation : annotations) {
    part_.clear();
    ProtobufWriter writer(part_);
    writer.number(kAnnotationName, annotation_names_.number(annotation.name, interned_));
    if (const auto* number = std::get_if<std::int64_t>(&annotation.value)) {
      writer.number(kInt, static_cast<std::uint64_t>(*number));
    } else {
      writer.number(kText, texts_.number(std::get<std::string_view>(annotation.value), interned_));
    }
    event.bytes(kAnnotation, part_);
  }
  event.number(kType, kBegin);
  event.number(kName, names_.number(name, interned_));
  event.number(kTrack, track);
  for (const std::uint64_t flow : flows) event.fixed64(kFlow, flow);
  add_packet(time_ns, kTrackEvent, event_);
}

void PerfettoPackets::end(TrackId track, std::int64_t time_ns) {
  event_.clear();
  ProtobufWriter event(event_);
  event.number(kType, kEnd);
  event.number(kTrack, track);
  add_packet(time_ns, kTrackEvent, event_);
}

void PerfettoPackets::count(TrackId track, std::int64_t time_ns, std::int64_t value) {
  event_.clear();
  ProtobufWriter event(event_);
  event.number(kType, kCount);
  event.number(kTrack, track);
  event.number(kCounterValue, static_cast<std::uint64_t>(value));
  add_packet(time_ns, kTrackEvent, event_);
}

void PerfettoPackets::add_packet(std::int64_t time_ns, std::uint32_t field,
                                 std::string_view content) {
  packet_.clear();
  ProtobufWriter packet(packet_);
  packet.number(kTimestamp, static_cast<std::uint64_t>(time_ns));
  if (!interned_.empty()) packet.bytes(kInternedData, interned_);
  interned_.clear();
  packet.bytes(field, content);
  add_packet(packet_);
}

void PerfettoPackets::add_packet(std::string_view content) {
  part_.assign(content);
  ProtobufWriter packet(part_);
  packet.number(kSequence, kOurSequence);
  packet.number(kSequenceFlags, is_first_ ? kStateCleared : kNeedsState);
  if (is_first_) packet.number(kFirstPacket, 1);
  is_first_ = false;
  ProtobufWriter(bytes_).bytes(kPacket, part_);
}

}  // namespace ddpprof
