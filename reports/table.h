// A plain text table: columns aligned, no borders, no wrapped rows.
#pragma once

#include <string>
#include <vector>

namespace ddpprof {

// The first column is aligned left, the others right. Width is counted in code points.
// An empty row prints an empty line; a row with one cell is a heading and sets no width.
class Table {
 public:
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ddpprof
