#include "app/audit/context.h"

namespace difr::app {

void add_report_commands(Registry&) {}

}  // namespace difr::app
