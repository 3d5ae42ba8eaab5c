#include "core/util/version.h"

namespace difr {

const char* version() { return DIFR_VERSION; }

}  // namespace difr
