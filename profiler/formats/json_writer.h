// Writes strict JSON text: what the native trace and the control messages are made of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ddpprof {

// Appends to a text; commas are put where they belong. A call order that makes no sense (a value
// where a key is due) gives text that is no JSON: the tests read everything back.
// Guarantees: only valid UTF-8 is written. A byte that is none becomes U+FFFD.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& text) : text_(text) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  // The next value starts on a line of its own; before a closing bracket: the bracket does.
  void new_line() { wants_line_ = true; }
  // "key": with a space behind the colon; other tools search the text for `"rank": 0`.
  void key(std::string_view name);

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(std::int64_t number);
  void value(std::int32_t number) { value(static_cast<std::int64_t>(number)); }
  void value(bool truth);
  // The shortest text that reads back as the same double. JSON has no NaN and no infinity: these
  // become the strings "nan", "inf" and "-inf".
  void value(double number);
  void null();
  // Units: nanoseconds in, microseconds with exactly three decimals out.
  void microseconds(std::int64_t time_ns);

  template <typename T>
  void value(const std::optional<T>& maybe) {
    if (maybe) {
      value(*maybe);
    } else {
      null();
    }
  }
  template <typename T>
  void value(const std::map<std::string, T>& entries) {
    begin_object();
    for (const auto& [name, entry] : entries) member(name, entry);
    end_object();
  }

  template <typename T>
  void member(std::string_view name, const T& member_value) {
    key(name);
    value(member_value);
  }

 private:
  void open(char bracket);
  void close(char bracket);
  void separate();
  // `end`: what stands behind the text, its closing quote first.
  void write_string(std::string_view text, std::string_view end);

  std::string& text_;
  bool needs_comma_ = false;
  bool wants_line_ = false;
};

}  // namespace ddpprof
