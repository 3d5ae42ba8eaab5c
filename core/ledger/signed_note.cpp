#include "core/ledger/signed_note.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <algorithm>
#include <span>
#include <vector>

#include "core/ledger/commit_reveal.h"
#include "core/util/base64.h"
#include "core/util/error.h"
#include "core/util/sha256.h"

namespace difr {

namespace {

using KeyBytes = std::array<std::uint8_t, 32>;
constexpr std::uint8_t kEd25519 = 1;
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kMostSignatures = 100;
constexpr std::string_view kDash = "\xE2\x80\x94 ";  // em dash and space start every signature line
constexpr std::string_view kPrivate = "PRIVATE+KEY+";

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

[[noreturn]] void no_ed25519() {
  throw environment_error("OpenSSL", "Ed25519 failed", "check the OpenSSL providers of this system");
}

KeyBytes public_key_of(const KeyBytes& seed) {
  const Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
  KeyBytes result{};
  std::size_t length = result.size();
  if (!key || EVP_PKEY_get_raw_public_key(key.get(), result.data(), &length) != 1 || length != result.size())
    no_ed25519();
  return result;
}

bool valid_name(std::string_view name) {
  return !name.empty() && std::none_of(name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == '+'; });
}

std::uint32_t hash_of(std::string_view name, const KeyBytes& key) {
  constexpr std::uint8_t kSeparator[] = {'\n', kEd25519};
  const Digest digest = Sha256().update(name).update(kSeparator).update(key).finish();
  std::uint32_t hash = 0;
  for (std::size_t i = 0; i < 4; ++i) hash = (hash << 8) | digest[i];
  return hash;
}

std::string key_text(const KeyBytes& key) {
  std::vector<std::uint8_t> tagged{kEd25519};
  tagged.insert(tagged.end(), key.begin(), key.end());
  return base64_encode(tagged);
}

struct EncodedKey {
  std::string name;
  std::string hash;
  KeyBytes key{};
};

/// name+hash+key; the base64 of the key may itself hold plus signs.
tl::expected<EncodedKey, std::string> split_key(std::string_view encoded) {
  const std::size_t first = encoded.find('+');
  const std::size_t second = first == std::string_view::npos ? first : encoded.find('+', first + 1);
  if (second == std::string_view::npos) return tl::unexpected(std::string("a key reads name+hash+base64"));
  EncodedKey result;
  result.name = encoded.substr(0, first);
  result.hash = encoded.substr(first + 1, second - first - 1);
  const auto key = base64_decode(encoded.substr(second + 1));
  if (!valid_name(result.name)) return tl::unexpected(std::string("the key's name is empty or holds a space"));
  if (!key || key->size() != 33 || key->front() != kEd25519)
    return tl::unexpected(std::string("the key is not base64 of an Ed25519 key (algorithm 1)"));
  std::copy(key->begin() + 1, key->end(), result.key.begin());
  return result;
}

}  // namespace

NoteVerifier::NoteVerifier(std::string name, const KeyBytes& public_key) : name_(std::move(name)), key_(public_key) {
  if (!valid_name(name_))
    throw Error(ExitCode::usage, "signing key", fmt::format("name \"{}\"", name_),
                "a name without spaces and plus signs, e.g. audit.example.org/ledger");
}

tl::expected<NoteVerifier, std::string> NoteVerifier::parse(std::string_view encoded) {
  auto parts = split_key(encoded);
  if (!parts) return tl::unexpected(parts.error());
  NoteVerifier verifier(std::move(parts->name), parts->key);
  if (fmt::format("{:08x}", verifier.key_hash()) != parts->hash)
    return tl::unexpected(std::string("the key's hash does not fit its name and bytes"));
  return verifier;
}

std::uint32_t NoteVerifier::key_hash() const {
  return hash_of(name_, key_);
}

std::string NoteVerifier::encoded() const {
  return fmt::format("{}+{:08x}+{}", name_, key_hash(), key_text(key_));
}

bool NoteVerifier::verifies(std::string_view message, std::string_view signature) const {
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key_.data(), key_.size()));
  const Context context(EVP_MD_CTX_new());
  if (!key || !context || EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1) return false;
  return EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(message), message.size()) == 1;
}

NoteSigner::NoteSigner(std::string name, const KeyBytes& seed)
    : seed_(seed), verifier_(std::move(name), public_key_of(seed)) {}

NoteSigner NoteSigner::generate(std::string name) {
  return {std::move(name), random_secret()};
}

tl::expected<NoteSigner, std::string> NoteSigner::parse(std::string_view encoded) {
  if (!encoded.starts_with(kPrivate)) return tl::unexpected(std::string("a private key starts with PRIVATE+KEY+"));
  auto parts = split_key(encoded.substr(kPrivate.size()));
  if (!parts) return tl::unexpected(parts.error());
  NoteSigner signer(std::move(parts->name), parts->key);
  if (fmt::format("{:08x}", signer.verifier().key_hash()) != parts->hash)
    return tl::unexpected(std::string("the key's hash does not fit its name and bytes"));
  return signer;
}

std::string NoteSigner::encoded() const {
  return fmt::format("{}{}+{:08x}+{}", kPrivate, verifier_.name(), verifier_.key_hash(), key_text(seed_));
}

std::string NoteSigner::sign(std::string_view message) const {
  const Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed_.data(), seed_.size()));
  const Context context(EVP_MD_CTX_new());
  std::string signature(kSignatureBytes, '\0');
  std::size_t length = signature.size();
  if (!key || !context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length, bytes(message),
                     message.size()) != 1 ||
      length != kSignatureBytes)
    no_ed25519();
  return signature;
}

std::string sign_note(std::string_view text, const NoteSigner& signer) {
  const bool control = std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' && c != '\n'; });
  if (!text.ends_with('\n') || control)
    throw Error(ExitCode::usage, "note", "its text must end in a newline and hold no control characters");
  const std::uint32_t hash = signer.verifier().key_hash();
  std::vector<std::uint8_t> blob;
  for (int shift = 24; shift >= 0; shift -= 8) blob.push_back(static_cast<std::uint8_t>(hash >> shift));
  const std::string signature = signer.sign(text);
  blob.insert(blob.end(), signature.begin(), signature.end());
  return fmt::format("{}\n{}{} {}\n", text, kDash, signer.verifier().name(), base64_encode(blob));
}

tl::expected<std::string, std::string> open_note(std::string_view note, const NoteVerifier& verifier) {
  const std::size_t gap = note.rfind("\n\n");
  if (gap == std::string_view::npos || !note.ends_with('\n'))
    return tl::unexpected(std::string("has no signatures after an empty line"));
  const std::string_view text = note.substr(0, gap + 1);
  std::string_view lines = note.substr(gap + 2);
  bool signed_by_verifier = false;
  std::size_t count = 0;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 1);
    if (!line.starts_with(kDash) || ++count > kMostSignatures)
      return tl::unexpected(std::string("a signature line does not start with a dash, or there are too many"));
    line.remove_prefix(kDash.size());
    const std::size_t space = line.find(' ');
    const auto blob = space == std::string_view::npos ? std::nullopt : base64_decode(line.substr(space + 1));
    if (!blob || blob->size() < 5) return tl::unexpected(std::string("a signature is not base64"));
    std::uint32_t hash = 0;
    for (std::size_t i = 0; i < 4; ++i) hash = (hash << 8) | (*blob)[i];
    if (line.substr(0, space) != verifier.name() || hash != verifier.key_hash()) continue;
    const std::string_view signature(reinterpret_cast<const char*>(blob->data()) + 4, blob->size() - 4);
    if (!verifier.verifies(text, signature))
      return tl::unexpected(fmt::format("the signature by {} is wrong", verifier.name()));
    signed_by_verifier = true;
  }
  if (!signed_by_verifier) return tl::unexpected(fmt::format("is not signed by {}", verifier.name()));
  return std::string(text);
}

}  // namespace difr
