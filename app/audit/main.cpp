#include <fmt/core.h>

#include "core/util/version.h"

int main() {
  fmt::print("difr-audit {}\n", difr::version());
  return 0;
}
