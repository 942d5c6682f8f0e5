#include "trainers/common/replica_threads.h"

#include "profiler/trace/error.h"

#include <barrier>
#include <exception>
#include <latch>
#include <string>
#include <thread>
#include <vector>

// at::init_num_threads
#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>

namespace ddpprof {
namespace {

using Work = ReplicaThreads::Work;

ThreadScope introduce(Recorder& recorder, std::int64_t replica) {
  // OpenMP keeps its number of threads a thread; a fresh one would take all cores.
  at::init_num_threads();
  return {recorder, "replica " + std::to_string(replica), false,
          static_cast<std::int32_t>(replica)};
}

void work_as_caller(const Work& work, std::int64_t replica, const at::ThreadLocalState& state,
                    std::exception_ptr& error) {
  const at::ThreadLocalStateGuard guard(state);
  try {
    work(replica);
  } catch (...) {
    error = std::current_exception();
  }
}

void rethrow_first(const std::vector<std::exception_ptr>& errors) {
  for (std::size_t replica = 0; replica < errors.size(); ++replica) {
    if (!errors[replica]) {
      continue;
    }
    try {
      std::rethrow_exception(errors[replica]);
    } catch (const std::exception& error) {
      const std::string text = error.what();
      throw Error("replica " + std::to_string(replica), text.substr(0, text.find('\n')),
                  "--strategy single runs the same work on one device");
    }
  }
}

}  // namespace

// Threads that wait at one barrier for work and at another for each other.
class ReplicaThreads::Pool {
 public:
  // Guarantees: the threads know how many intra-op threads they have, whoever sets that later.
  Pool(Recorder& recorder, std::int64_t count)
      : begin_(count + 1), end_(count + 1), introduced_(count) {
    try {
      for (std::int64_t replica = 0; replica < count; ++replica) {
        threads_.emplace_back([this, &recorder, replica] { serve(recorder, replica); });
      }
    } catch (...) {
      // Those that did start wait for all: the others are counted off, so that they leave.
      for (auto missing = count - static_cast<std::int64_t>(threads_.size()); missing > 0;
           --missing) {
        begin_.arrive_and_drop();
      }
      begin_.arrive_and_wait();
      throw;
    }
    introduced_.wait();
  }

  ~Pool() {
    work_ = nullptr;
    begin_.arrive_and_wait();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void run(const Work& work, const at::ThreadLocalState& state,
           std::vector<std::exception_ptr>& errors) {
    work_ = &work;
    state_ = &state;
    errors_ = &errors;
    begin_.arrive_and_wait();
    end_.arrive_and_wait();
  }

 private:
  void serve(Recorder& recorder, std::int64_t replica) {
    const ThreadScope thread = introduce(recorder, replica);
    introduced_.count_down();
    while (true) {
      begin_.arrive_and_wait();
      if (work_ == nullptr) {
        return;
      }
      work_as_caller(*work_, replica, *state_, (*errors_)[static_cast<std::size_t>(replica)]);
      end_.arrive_and_wait();
    }
  }

  std::barrier<> begin_, end_;
  std::latch introduced_;
  const Work* work_ = nullptr;
  const at::ThreadLocalState* state_ = nullptr;
  std::vector<std::exception_ptr>* errors_ = nullptr;
  std::vector<std::jthread> threads_;  // last: they use the others
};

ReplicaThreads::ReplicaThreads(Recorder& recorder, std::int64_t count, DpThreads kind)
    : recorder_(recorder), count_(count) {
  if (kind == DpThreads::pool) {
    pool_ = std::make_unique<Pool>(recorder, count);
  }
}

ReplicaThreads::~ReplicaThreads() = default;

void ReplicaThreads::run(const Work& work) {
  const at::ThreadLocalState state;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(count_));
  if (pool_) {
    pool_->run(work, state, errors);
  } else {
    std::vector<std::jthread> threads;
    for (std::int64_t replica = 0; replica < count_; ++replica) {
      threads.emplace_back([&, replica] {
        const ThreadScope thread = introduce(recorder_, replica);
        work_as_caller(work, replica, state, errors[static_cast<std::size_t>(replica)]);
      });
    }
    // The threads end here.
  }
  rethrow_first(errors);
}

}  // namespace ddpprof
