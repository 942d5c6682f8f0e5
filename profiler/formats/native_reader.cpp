#include "profiler/formats/decimal_time.h"
#include "profiler/formats/json_value.h"
#include "profiler/formats/native.h"
#include "profiler/formats/native_events.h"
#include "profiler/formats/native_head.h"
#include "profiler/trace/error.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <simdjson.h>

namespace ddpprof {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kHeadKey = "ddpprof";
constexpr std::string_view kEventsKey = "traceEvents";

// The keys of an event's "args" and where their values go.
template <typename T>
struct Member {
  std::string_view key;
  std::optional<T> NativeEvent::* place;
};

constexpr std::array<Member<std::int64_t>, 14> kIntegers = {{
    {"thread", &NativeEvent::thread},
    {"correlation", &NativeEvent::correlation},
    {"device", &NativeEvent::device},
    {"stream", &NativeEvent::stream},
    {"bytes", &NativeEvent::bytes},
    {"cpu_ns", &NativeEvent::cpu_ns},
    {"replica", &NativeEvent::replica},
    {"step", &NativeEvent::step},
    {"visit", &NativeEvent::visit},
    {"Seq", &NativeEvent::sequence},
    {"bucket", &NativeEvent::bucket},
    {"root", &NativeEvent::root},
    {"ready_ns", &NativeEvent::ready_ns},
    {"work", &NativeEvent::work},
}};
constexpr std::array<Member<bool>, 4> kTruths = {{
    {"computes", &NativeEvent::computes},
    {"synchronizes", &NativeEvent::synchronizes},
    {"gradient", &NativeEvent::gradient},
    {"losses", &NativeEvent::losses},
}};
constexpr std::array<Member<std::string_view>, 5> kTexts = {{
    {"phase", &NativeEvent::scope_phase},
    {"activity", &NativeEvent::activity},
    {"collective", &NativeEvent::collective},
    {"Process Group Name", &NativeEvent::communicator},
    {"dtype", &NativeEvent::element_type},
}};

class NativeReader {
 public:
  explicit NativeReader(std::string_view subject) : subject_(subject) {}

  Trace read(std::string json) {
    check_ends(json);
    // simdjson reads a little past the end. A copy with room for that is a quarter of the reading.
    json.reserve(json.size() + simdjson::SIMDJSON_PADDING);
    ondemand::parser parser;
    try {
      ondemand::document document = parser.iterate(json.data(), json.size(), json.capacity());
      if (!read_top_level(document, /*head_is_known=*/false)) {
        document.rewind();
        read_top_level(document, /*head_is_known=*/true);
      }
    } catch (const simdjson::simdjson_error& error) {
      fail_for(error, json);
    }
    return std::move(trace_);
  }

 private:
  // Cheap, and tells apart what simdjson cannot.
  void check_ends(std::string_view json) const {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t first = json.find_first_not_of(kSpace);
    if (first == std::string_view::npos) throw Error(subject_, "is empty");
    if (json[first] == '[') fail_foreign();
    if (json[first] != '{') throw Error(subject_, "is not JSON");
    if (json[json.find_last_not_of(kSpace)] != '}') fail_cut_off();
  }

  [[noreturn]] void fail_foreign() const {
    throw Error(subject_, "is not a trace of ddpprof: it has no object \"ddpprof\"");
  }
  [[noreturn]] void fail_cut_off() const {
    throw Error(subject_, "is cut off", "copy it again, or record again");
  }

  // Whether more brackets are opened than closed.
  static bool is_cut_off(std::string_view json) {
    std::int64_t depth = 0;
    bool is_in_string = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
      const char c = json[i];
      if (c == '"') is_in_string = !is_in_string;
      if (is_in_string && c == '\\') ++i;
      if (is_in_string) continue;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
    }
    return is_in_string || depth > 0;
  }

  [[noreturn]] void fail_for(const simdjson::simdjson_error& error, std::string_view json) const {
    if (error.error() == simdjson::CAPACITY) throw Error(subject_, "is larger than 4 GB");
    if (is_cut_off(json)) fail_cut_off();
    const std::string place = events_count_ == 0 ? "" : fmt::format("event {}: ", events_count_);
    throw Error(subject_, fmt::format("{}is not valid JSON: {}", place, error.what()));
  }

  // False when the events stood before the head, so that a second look is needed.
  bool read_top_level(ondemand::document& document, bool head_is_known) {
    int heads_count = 0;
    int events_lists_count = 0;
    bool is_complete = true;
    for (ondemand::field field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == kHeadKey) {
        if (++heads_count > 1) fail_twice(key);
        if (!head_is_known) read_head(field.value());
      } else if (key == kEventsKey) {
        if (++events_lists_count > 1) fail_twice(key);
        if (heads_count == 0 && !head_is_known) {
          is_complete = false;
        } else {
          read_events(field.value());
        }
      }
    }
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
      throw Error(subject_, "goes on behind the end of its JSON");
    }
    if (heads_count == 0) fail_foreign();
    if (events_lists_count == 0) throw Error(subject_, "\"traceEvents\" is missing");
    return is_complete;
  }

  [[noreturn]] void fail_twice(std::string_view key) const {
    throw Error(subject_, fmt::format("the key \"{}\" appears twice", key));
  }

  void read_head(ondemand::value value) {
    ondemand::object object = value.get_object();
    const std::string_view text = object.raw_json();
    const JsonValue head = parse_json(text, subject_);
    read_native_head(JsonObject(head, subject_, "\"ddpprof\""), trace_);
  }

  void read_events(ondemand::value value) {
    NativeEventSink sink(trace_, subject_);
    for (ondemand::object event : value.get_array()) {
      ++events_count_;
      sink.add(read_event(event));
    }
    events_count_ = 0;
    sink.finish();
  }

  NativeEvent read_event(ondemand::object object) const {
    NativeEvent event;
    enum : unsigned {
      has_ph = 1,
      has_cat = 2,
      has_name = 4,
      has_ts = 8,
      has_dur = 16,
      has_args = 32
    };
    unsigned seen = 0;
    const auto is_key = [&](std::string_view key, std::string_view wanted, unsigned bit) {
      if (key != wanted) return false;
      if ((seen & bit) != 0) fail_twice_in_event(key);
      seen |= bit;
      return true;
    };
    for (ondemand::field field : object) {
      const std::string_view key = field.unescaped_key();
      if (is_key(key, "ph", has_ph)) {
        event.phase = field.value().get_string();
      } else if (is_key(key, "cat", has_cat)) {
        event.category = field.value().get_string();
      } else if (is_key(key, "name", has_name)) {
        event.name = field.value().get_string();
      } else if (is_key(key, "ts", has_ts)) {
        event.begin_ns = read_time(field.value(), key);
      } else if (is_key(key, "dur", has_dur)) {
        event.duration_ns = read_time(field.value(), key);
      } else if (is_key(key, "args", has_args)) {
        for (ondemand::field argument : field.value().get_object()) read_argument(argument, event);
      }
    }
    return event;
  }

  void read_argument(ondemand::field& field, NativeEvent& event) const {
    const std::string_view key = field.unescaped_key();
    // Metadata has arguments of its own ("name", "labels", "sort_index"): none of these.
    if (const auto* member = find(kIntegers, key)) {
      set(event.*member->place, field.value(), key, "an integer");
    } else if (const auto* truth = find(kTruths, key)) {
      set(event.*truth->place, field.value(), key, "true or false");
    } else if (const auto* text = find(kTexts, key)) {
      set(event.*text->place, field.value(), key, "a string");
    }
  }

  template <typename T, std::size_t Count>
  static const Member<T>* find(const std::array<Member<T>, Count>& members, std::string_view key) {
    const auto found = std::ranges::find(members, key, &Member<T>::key);
    return found == members.end() ? nullptr : &*found;
  }

  template <typename T>
  void set(std::optional<T>& place, ondemand::value value, std::string_view key,
           std::string_view wanted) const {
    if (place) fail_twice_in_event(key);
    T read{};
    if (value.get(read) != simdjson::SUCCESS) {
      throw Error(subject_, fmt::format("event {}: \"{}\" is not {}", events_count_, key, wanted));
    }
    place = read;
  }

  std::int64_t read_time(ondemand::value value, std::string_view key) const {
    std::string_view token = value.raw_json_token();
    token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
    if (const std::optional<std::int64_t> time_ns = parse_microseconds(token)) return *time_ns;
    throw Error(subject_, fmt::format("event {}: \"{}\" is not a time in microseconds: {}",
                                      events_count_, key, token.substr(0, 40)));
  }

  [[noreturn]] void fail_twice_in_event(std::string_view key) const {
    throw Error(subject_,
                fmt::format("event {}: the key \"{}\" appears twice", events_count_, key));
  }

  const std::string subject_;
  Trace trace_;
  std::int64_t events_count_ = 0;  // the event being read; 0: none
};

}  // namespace

Trace read_native(std::string json, std::string_view subject) {
  return NativeReader(subject).read(std::move(json));
}

}  // namespace ddpprof
