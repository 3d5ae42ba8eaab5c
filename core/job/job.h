#pragma once
// The one job type: immutable shared input, stop token, atomic progress, results queued with a token.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace difr {

/// Progress of a running job; units are the job's own (bytes, requests). Readable from any thread.
struct JobProgress {
  std::atomic<std::int64_t> done{0};
  std::atomic<std::int64_t> total{0};
};

/// Results carry the token of the job that made them, so that a view can drop what comes from a superseded job.
template <class Result>
struct JobResult {
  std::uint64_t token = 0;
  std::optional<Result> value;
  std::exception_ptr error;  ///< set instead of value when the job threw
};

/// Thread-safe queue that outlives the jobs that write to it. `notify` is called outside the lock, on the job's thread.
template <class Result>
class JobQueue {
 public:
  explicit JobQueue(std::function<void()> notify = {}) : notify_(std::move(notify)) {}

  void push(JobResult<Result> result) {
    {
      std::lock_guard lock(mutex_);
      results_.push_back(std::move(result));
    }
    if (notify_) notify_();
  }

  [[nodiscard]] std::optional<JobResult<Result>> pop() {
    std::lock_guard lock(mutex_);
    if (results_.empty()) return std::nullopt;
    auto result = std::move(results_.front());
    results_.pop_front();
    return result;
  }

 private:
  std::mutex mutex_;
  std::deque<JobResult<Result>> results_;
  std::function<void()> notify_;
};

/// Runs `work(input, stop, progress)` on its own thread; the destructor cancels and joins.
template <class Result>
class Job {
 public:
  template <class Input, class Work>
  Job(std::uint64_t token, std::shared_ptr<const Input> input, std::shared_ptr<JobQueue<Result>> queue, Work work)
      : token_(token), thread_([this, input = std::move(input), queue = std::move(queue), work = std::move(work)](std::stop_token stop) {
          JobResult<Result> result{token_, std::nullopt, nullptr};
          try {
            result.value = work(*input, stop, progress_);
          } catch (...) {
            result.error = std::current_exception();
          }
          finished_ = true;
          queue->push(std::move(result));
        }) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void cancel() { thread_.request_stop(); }
  [[nodiscard]] std::uint64_t token() const { return token_; }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] const JobProgress& progress() const { return progress_; }

 private:
  std::uint64_t token_;
  JobProgress progress_;
  std::atomic<bool> finished_{false};
  std::jthread thread_;  // last: started when everything else is in place, joined first
};

}  // namespace difr
