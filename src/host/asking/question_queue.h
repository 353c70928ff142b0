// The queue before a person: one question at a time, of whatever kind and whichever server. How many questions of
// servers may wait is bounded, for each server and in all: a server that asks without end is refused, and keeps nobody
// else from asking. Whoever stops waiting has left the queue. Loop thread only; outlives its turns.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <patchbay/error.h>
#include <patchbay/task.h>

#include "base/semaphore.h"

namespace patchbay {

inline constexpr std::size_t most_questions_of_one = 8;  // of one server, waiting or being asked
inline constexpr std::size_t most_questions = 32;        // of all

class QuestionQueue {
  // Counted from entering the queue to the end of the turn.
  class Entered {
   public:
    Entered() = default;
    Entered(QuestionQueue& queue, std::string server) : queue_(&queue), server_(std::move(server)) {
      ++queue_->waiting_[server_];
      ++queue_->all_;
    }
    Entered(Entered&& other) noexcept
        : queue_(std::exchange(other.queue_, nullptr)), server_(std::move(other.server_)) {}
    Entered& operator=(Entered&&) = delete;
    ~Entered() {
      if (queue_ == nullptr) return;
      --queue_->all_;
      if (const auto of = queue_->waiting_.find(server_); --of->second == 0) queue_->waiting_.erase(of);
    }

   private:
    QuestionQueue* queue_ = nullptr;
    std::string server_;
  };

 public:
  struct Turn {
    Entered entered;
    Semaphore::Permit permit;
  };

  // Returns when the person may be asked for this server. Errc::limit when too many questions wait.
  Task<Turn> turn_of(std::string server) {
    const auto of = waiting_.find(server);
    const auto count = of == waiting_.end() ? 0 : of->second;
    if (count >= most_questions_of_one || all_ >= most_questions) {
      throw Error(Errc::limit,
                  fmt::format("{} of its questions and {} of all servers are waiting for an answer; the limits are {} "
                              "and {}",
                              count, all_, most_questions_of_one, most_questions));
    }
    Entered entered(*this, std::move(server));
    auto permit = co_await person_.acquire();
    co_return Turn{std::move(entered), std::move(permit)};
  }
  // For what is not a server's question: an approval, a permission.
  Task<Semaphore::Permit> acquire() { return person_.acquire(); }
  std::size_t waiting() const noexcept { return all_; }

 private:
  Semaphore person_{1};
  std::map<std::string, std::size_t> waiting_;
  std::size_t all_ = 0;
};

}  // namespace patchbay
