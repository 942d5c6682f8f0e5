// Small JSON texts as a value: the control messages and the head of a native trace. Events, which
// are many, are read as a stream instead (native_events.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ddpprof {

struct JsonMember;

// Integers beyond 64 bits signed are kept as double.
struct JsonValue {
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;  // in the order of the text; keys are unique
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> value;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

// Throws Error when the text is not one strict JSON value, or a key appears twice in an object.
// `subject` names the text in messages.
JsonValue parse_json(std::string_view text, std::string_view subject);

// Takes the members of one object apart by name and type. Unknown members are ignored, so that
// newer writers may add some.
// Throws Error naming the member when it is missing or of another type.
class JsonObject {
 public:
  // `value` must outlive this. `place` says where it stands: "ddpprof.threads[3]".
  JsonObject(const JsonValue& value, std::string_view subject, std::string place);

  void read(std::string_view key, bool& out) const;
  void read(std::string_view key, std::int64_t& out) const;
  void read(std::string_view key, std::int32_t& out) const;
  void read(std::string_view key, std::string& out) const;
  // Missing and null both mean absent.
  void read(std::string_view key, std::optional<std::int64_t>& out) const;
  void read(std::string_view key, std::optional<std::int32_t>& out) const;
  void read(std::string_view key, std::optional<double>& out) const;
  void read(std::string_view key, std::optional<std::string>& out) const;
  void read(std::string_view key, std::map<std::string, std::int64_t>& out) const;
  void read(std::string_view key, std::map<std::string, std::string>& out) const;
  void read(std::string_view key, std::vector<std::int64_t>& out) const;
  void read(std::string_view key, std::vector<std::optional<std::int64_t>>& out) const;
  void read(std::string_view key, std::vector<std::string>& out) const;

  bool has(std::string_view key) const { return find(key) != nullptr; }
  // There, and not null.
  bool has_value(std::string_view key) const;
  // In the order of the text.
  std::vector<std::string> keys() const;
  JsonObject object(std::string_view key) const;
  std::vector<JsonObject> objects(std::string_view key) const;

  // Throws Error about this object.
  [[noreturn]] void fail(const std::string& problem, const std::string& hint = {}) const;

 private:
  const JsonValue* find(std::string_view key) const;
  const JsonValue& need(std::string_view key) const;
  const JsonValue::Array& need_array(std::string_view key) const;
  std::string place_of(std::string_view key) const;
  template <typename T>
  T as(const JsonValue& value, const std::string& place) const;
  template <typename T>
  std::optional<T> as_optional(std::string_view key) const;

  const JsonValue::Object* members_;
  std::string_view subject_;
  std::string place_;
};

}  // namespace ddpprof
