#pragma once
// Where the user is, and the way back: a browser's history over pages.

#include <QObject>
#include <QString>
#include <cstdint>
#include <vector>

namespace difr::views {

/// A place in the workbench. Ids are case-file rows; 0 or -1 mean "not narrowed".
struct Location {
  QString page;
  std::int64_t provider_id = 0;
  std::int64_t request_id = 0;
  int token = -1;

  bool operator==(const Location&) const = default;
};

class Navigation : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  [[nodiscard]] const Location& current() const { return current_; }
  [[nodiscard]] bool can_go_back() const { return index_ > 0; }
  [[nodiscard]] bool can_go_forward() const { return index_ + 1 < trail_.size(); }

  void go(const Location& location);
  /// Refines the current place (another token, another filter) without a new step in the history.
  void refine(const Location& location);
  void back();
  void forward();
  /// Forgets everything; used when the case changes.
  void reset(const Location& location);

 signals:
  void moved(const difr::views::Location& location);
  void availability_changed();

 private:
  void arrive();

  std::vector<Location> trail_;
  std::size_t index_ = 0;
  Location current_;
};

}  // namespace difr::views
