#include "core/domain/verdict.h"

namespace difr {

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass: return "pass";
    case Outcome::fail: return "fail";
    case Outcome::undetermined: break;
  }
  return "undetermined";
}

}  // namespace difr
