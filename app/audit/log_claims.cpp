#include "app/audit/log_claims.h"

#include "app/audit/steps.h"

namespace difr::app {

std::vector<Claim> claims_of_log(const std::filesystem::path& log, const GlobalOptions& options, std::stop_token stop) {
  const TemporaryCase temporary;
  auto file = CaseFile::open(temporary.path(), OpenMode::create_or_open);
  GlobalOptions silent = options;
  silent.quiet = true;
  (void)import_logs(file, std::span(&log, 1), {}, silent, stop);
  std::vector<Claim> claims;
  for (const auto& provider : file.providers())
    file.for_each_claim(provider.id, [&](Claim&& claim) {
      claims.push_back(std::move(claim));
      return true;
    });
  if (claims.empty()) throw bad_input(log.string(), "holds no request as token ids", "see `difr-audit import` on it");
  return claims;
}

}  // namespace difr::app
