#include "profiler/formats/json_value.h"

#include "profiler/trace/error.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>
#include <simdjson.h>

namespace ddpprof {
namespace {

namespace dom = simdjson::dom;

JsonValue convert(dom::element element, std::string_view subject);

JsonValue convert_object(dom::object object, std::string_view subject) {
  JsonValue::Object members;
  for (const auto field : object) {
    members.push_back({std::string(field.key), convert(field.value, subject)});
  }
  std::vector<std::string_view> keys;
  for (const JsonMember& member : members) keys.push_back(member.key);
  std::ranges::sort(keys);
  if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
    throw Error(std::string(subject), fmt::format("the key \"{}\" appears twice", *twice));
  }
  return {std::move(members)};
}

// Recursion: simdjson refuses texts nested deeper than 1,024.
JsonValue convert(dom::element element, std::string_view subject) {
  switch (element.type()) {
    case dom::element_type::NULL_VALUE:
      return {nullptr};
    case dom::element_type::BOOL:
      return {bool(element)};
    case dom::element_type::INT64:
      return {std::int64_t(element)};
    case dom::element_type::UINT64:
      return {static_cast<double>(std::uint64_t(element))};
    case dom::element_type::DOUBLE:
      return {double(element)};
    case dom::element_type::STRING:
      return {std::string(std::string_view(element))};
    case dom::element_type::OBJECT:
      return convert_object(element, subject);
    case dom::element_type::ARRAY:
      break;
  }
  JsonValue::Array items;
  for (const dom::element item : dom::array(element)) items.push_back(convert(item, subject));
  return {std::move(items)};
}

template <typename T>
constexpr std::string_view kWanted = "an array";
template <>
constexpr std::string_view kWanted<bool> = "true or false";
template <>
constexpr std::string_view kWanted<std::int64_t> = "an integer";
template <>
constexpr std::string_view kWanted<double> = "a number";
template <>
constexpr std::string_view kWanted<std::string> = "a string";

}  // namespace

JsonValue parse_json(std::string_view text, std::string_view subject) {
  try {
    dom::parser parser;
    return convert(parser.parse(text.data(), text.size()), subject);
  } catch (const simdjson::simdjson_error& error) {
    throw Error(std::string(subject), fmt::format("is not valid JSON: {}", error.what()));
  }
}

JsonObject::JsonObject(const JsonValue& value, std::string_view subject, std::string place)
    : members_(std::get_if<JsonValue::Object>(&value.value)),
      subject_(subject),
      place_(std::move(place)) {
  if (members_ == nullptr) fail("is not an object");
}

void JsonObject::fail(const std::string& problem, const std::string& hint) const {
  throw Error(std::string(subject_), place_.empty() ? problem : place_ + " " + problem, hint);
}

const JsonValue* JsonObject::find(std::string_view key) const {
  const auto found = std::ranges::find(*members_, key, &JsonMember::key);
  return found == members_->end() ? nullptr : &found->value;
}

bool JsonObject::has_value(std::string_view key) const {
  const JsonValue* value = find(key);
  return value != nullptr && !std::holds_alternative<std::nullptr_t>(value->value);
}

std::string JsonObject::place_of(std::string_view key) const {
  return place_.empty() ? fmt::format("\"{}\"", key) : fmt::format("{}.{}", place_, key);
}

const JsonValue& JsonObject::need(std::string_view key) const {
  if (const JsonValue* value = find(key)) return *value;
  throw Error(std::string(subject_), place_of(key) + " is missing");
}

const JsonValue::Array& JsonObject::need_array(std::string_view key) const {
  const auto* items = std::get_if<JsonValue::Array>(&need(key).value);
  if (items == nullptr) throw Error(std::string(subject_), place_of(key) + " is not an array");
  return *items;
}

template <typename T>
T JsonObject::as(const JsonValue& value, const std::string& place) const {
  if (const T* found = std::get_if<T>(&value.value)) return *found;
  throw Error(std::string(subject_), fmt::format("{} is not {}", place, kWanted<T>));
}

template <>
std::int32_t JsonObject::as<std::int32_t>(const JsonValue& value, const std::string& place) const {
  const auto number = as<std::int64_t>(value, place);
  if (number < std::numeric_limits<std::int32_t>::min() ||
      number > std::numeric_limits<std::int32_t>::max()) {
    throw Error(std::string(subject_), fmt::format("{} is out of range: {}", place, number));
  }
  return static_cast<std::int32_t>(number);
}

template <>
double JsonObject::as<double>(const JsonValue& value, const std::string& place) const {
  if (const auto* number = std::get_if<double>(&value.value)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) {
    return static_cast<double>(*number);
  }
  const auto* text = std::get_if<std::string>(&value.value);
  if (text && *text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text && *text == "inf") return std::numeric_limits<double>::infinity();
  if (text && *text == "-inf") return -std::numeric_limits<double>::infinity();
  throw Error(std::string(subject_), fmt::format("{} is not {}", place, kWanted<double>));
}

template <typename T>
std::optional<T> JsonObject::as_optional(std::string_view key) const {
  if (!has_value(key)) return std::nullopt;
  return as<T>(*find(key), place_of(key));
}

void JsonObject::read(std::string_view key, bool& out) const {
  out = as<bool>(need(key), place_of(key));
}
void JsonObject::read(std::string_view key, std::int64_t& out) const {
  out = as<std::int64_t>(need(key), place_of(key));
}
void JsonObject::read(std::string_view key, std::int32_t& out) const {
  out = as<std::int32_t>(need(key), place_of(key));
}
void JsonObject::read(std::string_view key, std::string& out) const {
  out = as<std::string>(need(key), place_of(key));
}
void JsonObject::read(std::string_view key, std::optional<std::int64_t>& out) const {
  out = as_optional<std::int64_t>(key);
}
void JsonObject::read(std::string_view key, std::optional<std::int32_t>& out) const {
  out = as_optional<std::int32_t>(key);
}
void JsonObject::read(std::string_view key, std::optional<double>& out) const {
  out = as_optional<double>(key);
}
void JsonObject::read(std::string_view key, std::optional<std::string>& out) const {
  out = as_optional<std::string>(key);
}

void JsonObject::read(std::string_view key, std::map<std::string, std::int64_t>& out) const {
  const JsonObject entries = object(key);
  for (const JsonMember& entry : *entries.members_) {
    out[entry.key] = as<std::int64_t>(entry.value, entries.place_of(entry.key));
  }
}

void JsonObject::read(std::string_view key, std::map<std::string, std::string>& out) const {
  const JsonObject entries = object(key);
  for (const JsonMember& entry : *entries.members_) {
    out[entry.key] = as<std::string>(entry.value, entries.place_of(entry.key));
  }
}

void JsonObject::read(std::string_view key, std::vector<std::int64_t>& out) const {
  for (const JsonValue& item : need_array(key)) {
    out.push_back(as<std::int64_t>(item, place_of(key)));
  }
}

void JsonObject::read(std::string_view key, std::vector<std::optional<std::int64_t>>& out) const {
  for (const JsonValue& item : need_array(key)) {
    const bool is_null = std::holds_alternative<std::nullptr_t>(item.value);
    out.push_back(is_null ? std::nullopt : std::optional(as<std::int64_t>(item, place_of(key))));
  }
}

void JsonObject::read(std::string_view key, std::vector<std::string>& out) const {
  for (const JsonValue& item : need_array(key)) {
    out.push_back(as<std::string>(item, place_of(key)));
  }
}

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> keys;
  for (const JsonMember& member : *members_) keys.push_back(member.key);
  return keys;
}

JsonObject JsonObject::object(std::string_view key) const {
  return JsonObject(need(key), subject_, place_of(key));
}

std::vector<JsonObject> JsonObject::objects(std::string_view key) const {
  std::vector<JsonObject> result;
  for (const JsonValue& item : need_array(key)) {
    result.emplace_back(item, subject_, fmt::format("{}[{}]", place_of(key), result.size()));
  }
  return result;
}

}  // namespace ddpprof
