#include "profiler/formats/work_kind.h"

namespace ddpprof {

WorkKind kind_of(const Work& work, std::string_view name) {
  if (work.activity == Activity::compute) return WorkKind::kernel;
  if (name.starts_with("Memset")) return WorkKind::set;
  if (work.activity == Activity::copy || name.starts_with("Memcpy")) return WorkKind::copy;
  return WorkKind::kernel;
}

}  // namespace ddpprof
