#include "profiler/formats/nsys_words.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include <cxxabi.h>

namespace ddpprof {
namespace {

// By id.
constexpr std::array<std::string_view, 11> kCopies = {
    "unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr std::array<std::string_view, 7> kMemories = {
    "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"};

template <typename Words>
std::int64_t find_word(const Words& words, std::string_view word, std::int64_t otherwise) {
  const auto found = std::ranges::find(words, word);
  return found == words.end() ? otherwise : found - words.begin();
}

}  // namespace

std::string demangled_name(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

std::string short_name(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string plain;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
      continue;
    }
    depth += name[i] == '<' ? 1 : 0;
    if (depth == 0) plain += name[i];
    depth -= name[i] == '>' && depth > 0 ? 1 : 0;
  }
  plain.resize(std::min(plain.find('('), plain.size()));
  return plain.substr(plain.find_last_of(": ") + 1);
}

CopyWords copy_words(std::string_view name) {
  const auto open = std::min(name.find('('), name.size());
  std::string_view before = name.substr(0, open);
  while (before.ends_with(' ')) before.remove_suffix(1);
  std::string_view inside = name.substr(std::min(open + 1, name.size()));
  inside = inside.substr(0, inside.rfind(')'));
  const auto arrow = inside.find(" -> ");
  CopyWords words;
  words.copy_kind = find_word(kCopies, before.substr(before.rfind(' ') + 1), words.copy_kind);
  words.from = find_word(kMemories, inside.substr(0, arrow), words.from);
  words.to =
      find_word(kMemories, arrow == inside.npos ? inside : inside.substr(arrow + 4), words.to);
  return words;
}

std::int64_t sync_type(std::string_view call) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> kTypes = {
      {{"EventSynchronize", 1},
       {"StreamSynchronize", 3},
       {"DeviceSynchronize", 4},
       {"CtxSynchronize", 4}}};
  for (const auto& [word, type] : kTypes) {
    if (call.find(word) != call.npos) return type;
  }
  return 0;
}

}  // namespace ddpprof
