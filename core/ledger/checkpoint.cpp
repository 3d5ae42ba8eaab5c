#include "core/ledger/checkpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "core/util/base64.h"
#include "core/util/error.h"

namespace difr {

namespace {

bool one_line(std::string_view text) {
  return !text.empty() && text.find('\n') == std::string_view::npos;
}

/// Cuts the first line, without its newline, off `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::string Checkpoint::text() const {
  std::string result = fmt::format("{}\n{}\n{}\n", origin, size, base64_encode(root));
  for (const std::string& line : extensions) result += line + "\n";
  return result;
}

std::string sign_checkpoint(const Checkpoint& checkpoint, const NoteSigner& signer) {
  if (!one_line(checkpoint.origin) ||
      !std::all_of(checkpoint.extensions.begin(), checkpoint.extensions.end(), one_line))
    throw Error(ExitCode::usage, "checkpoint", "origin and extensions are one non-empty line each");
  return sign_note(checkpoint.text(), signer);
}

tl::expected<Checkpoint, std::string> open_checkpoint(std::string_view note, const NoteVerifier& verifier) {
  const auto opened = open_note(note, verifier);
  if (!opened) return tl::unexpected(opened.error());
  std::string_view rest = *opened;
  Checkpoint checkpoint;
  checkpoint.origin = take_line(rest);
  if (checkpoint.origin.empty()) return tl::unexpected(std::string("the checkpoint has no origin"));
  const std::string_view size = take_line(rest);
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), checkpoint.size);
  if (error != std::errc{} || end != size.data() + size.size() || (size.size() > 1 && size.front() == '0'))
    return tl::unexpected(fmt::format("the checkpoint's size \"{}\" is not a number", size));
  const auto root = base64_decode(take_line(rest));
  if (!root || root->size() != checkpoint.root.size())
    return tl::unexpected(std::string("the checkpoint's root is not base64 of 32 bytes"));
  std::copy(root->begin(), root->end(), checkpoint.root.begin());
  while (!rest.empty()) {
    checkpoint.extensions.emplace_back(take_line(rest));
    if (checkpoint.extensions.back().empty()) return tl::unexpected(std::string("the checkpoint has an empty line"));
  }
  return checkpoint;
}

std::string sample_commitment_line(const Digest& commitment) {
  return "sample-commitment " + to_hex(commitment);
}

tl::expected<std::vector<std::uint64_t>, std::string> draw_from_checkpoint(const Checkpoint& checkpoint,
                                                                           const Secret& secret, std::uint64_t count) {
  const std::string own = sample_commitment_line(commit(secret, kSamplePurpose));
  const auto& lines = checkpoint.extensions;
  const auto is_commitment = [](const std::string& line) { return line.starts_with("sample-commitment "); };
  const auto number = std::count_if(lines.begin(), lines.end(), is_commitment);
  if (number == 0)
    return tl::unexpected(
        std::string("the checkpoint carries no sample commitment: the secret may have been chosen after it"));
  if (number > 1) return tl::unexpected(std::string("the checkpoint carries several sample commitments"));
  if (*std::find_if(lines.begin(), lines.end(), is_commitment) != own)
    return tl::unexpected(std::string("the secret does not open the checkpoint's sample commitment"));
  if (count > checkpoint.size)
    return tl::unexpected(fmt::format("a sample of {} from a ledger of {}", count, checkpoint.size));
  return draw_sample(RevealedStream(secret, kSamplePurpose, checkpoint.text()), checkpoint.size, count);
}

}  // namespace difr
