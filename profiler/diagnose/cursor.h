// A search in a sorted sequence that goes on where the last one ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>

namespace ddpprof {

// Finds what std::ranges::partition_point() finds. Questions about in the order of the sequence, as
// those of records in order of time are, cost O(1) each; any others O(log n), with the same answer.
// Always to be used with the same sequence.
class Cursor {
 public:
  // The position of the first element that is not before what is looked for; the size: none.
  template <typename Sequence, typename IsBefore>
  std::size_t find(const Sequence& sequence, IsBefore is_before) {
    const auto at = [&](std::size_t i) -> decltype(auto) {
      return sequence[static_cast<typename Sequence::size_type>(i)];
    };
    // The answer is in [low, high].
    std::size_t low = 0, high = sequence.size();
    if (at_ < high && is_before(at(at_))) {
      low = at_ + 1;
      const std::size_t near = std::min(high, low + kNear);
      while (low < near && is_before(at(low))) ++low;
      if (low < near) high = low;
    } else {
      high = at_;
      const std::size_t near = high - std::min(high, kNear);
      while (high > near && !is_before(at(high - 1))) --high;
      if (high > near) low = high;
    }
    const auto begin = sequence.begin();
    const auto found =
        std::partition_point(begin + static_cast<std::ptrdiff_t>(low),
                             begin + static_cast<std::ptrdiff_t>(high), std::ref(is_before));
    return at_ = static_cast<std::size_t>(found - begin);
  }

 private:
  static constexpr std::size_t kNear = 8;
  std::size_t at_ = 0;
};

}  // namespace ddpprof
