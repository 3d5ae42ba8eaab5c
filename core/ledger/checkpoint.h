#pragma once
// A signed statement "this ledger has this many entries and this root" (c2sp.org/tlog-checkpoint inside a signed note),
// and the sample that is drawn after it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "core/ledger/commit_reveal.h"
#include "core/ledger/merkle.h"
#include "core/ledger/signed_note.h"

namespace difr {

struct Checkpoint {
  std::string origin;  ///< names the ledger; no newline
  std::uint64_t size = 0;
  Digest root{};
  std::vector<std::string> extensions;  ///< further lines, e.g. the sample's commitment

  bool operator==(const Checkpoint&) const = default;
  /// origin, size and base64 root, a line each, then the extensions.
  [[nodiscard]] std::string text() const;
};

/// Throws difr::Error (usage) when origin or an extension is empty or holds a newline.
[[nodiscard]] std::string sign_checkpoint(const Checkpoint& checkpoint, const NoteSigner& signer);
/// The string says what is wrong: the signature, the form, or the numbers.
[[nodiscard]] tl::expected<Checkpoint, std::string> open_checkpoint(std::string_view note,
                                                                    const NoteVerifier& verifier);

/// Which of the checkpoint's entries the auditor looks at, drawn from a secret that was committed before the checkpoint
/// was signed. The checkpoint must carry that commitment as the extension line "sample-commitment <hex>", so that the
/// order of events is signed; anyone can repeat the draw once the secret is revealed.
[[nodiscard]] std::string sample_commitment_line(const Digest& commitment);
/// The string says why the draw is void: no commitment in the checkpoint, a secret that does not open it, or a sample
/// larger than the ledger.
[[nodiscard]] tl::expected<std::vector<std::uint64_t>, std::string> draw_from_checkpoint(const Checkpoint& checkpoint,
                                                                                         const Secret& secret,
                                                                                         std::uint64_t count);

}  // namespace difr
