#pragma once
// Diagnosis of a provider in a recomputed case.

#include <stop_token>

#include "core/casefile/case_file.h"
#include "core/diagnosis/diagnose.h"

namespace difr {

/// Honest noise comes from the newest calibration of the case where there is one, else from `options`.
[[nodiscard]] Diagnosis diagnose_provider(const CaseFile& file, const RunRow& run, const ProviderRow& provider, DiagnosisOptions options = {},
                                          std::stop_token stop = {});

}  // namespace difr
