#include "views/data/navigation.h"

namespace difr::views {
namespace {
constexpr std::size_t history_limit = 500;
}

void Navigation::go(const Location& location) {
  if (!trail_.empty() && location == current_) return;
  if (!trail_.empty()) trail_.resize(index_ + 1);
  trail_.push_back(location);
  if (trail_.size() > history_limit) trail_.erase(trail_.begin());
  index_ = trail_.size() - 1;
  arrive();
}

void Navigation::refine(const Location& location) {
  if (trail_.empty()) return go(location);
  trail_[index_] = location;
  current_ = location;
}

void Navigation::back() {
  if (!can_go_back()) return;
  --index_;
  arrive();
}

void Navigation::forward() {
  if (!can_go_forward()) return;
  ++index_;
  arrive();
}

void Navigation::reset(const Location& location) {
  trail_.assign(1, location);
  index_ = 0;
  arrive();
}

void Navigation::arrive() {
  current_ = trail_[index_];
  emit availability_changed();
  emit moved(current_);
}

}  // namespace difr::views
