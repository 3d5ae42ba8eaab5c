#pragma once
// What a fingerprint file declares about itself, from string metadata or a JSON object.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fingerprint/fingerprint.h"

namespace difr {

/// Value of a key as text; empty when the file does not state it. Keys come without the "difr." prefix.
using DeclaredValue = std::function<std::optional<std::string>(std::string_view key)>;

/// Claims without requests, for "projection" or for "projections" separated by commas.
/// One claim per declared projection; throws difr::Error (bad_input) naming `where`, the key and what it may be.
[[nodiscard]] std::vector<FingerprintClaim> declared_claims(const DeclaredValue& value, const std::string& where);

}  // namespace difr
