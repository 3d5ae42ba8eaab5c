#pragma once
// Ed25519 signatures (RFC 8032, by OpenSSL) in the signed-note form of transparency logs (c2sp.org/signed-note): text,
// an empty line, then lines "— name base64(key hash ‖ signature)". So other logs' tools can check ours.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace difr {

/// Name and public key of who signs. Encoded: name+hash+base64(1 ‖ key).
class NoteVerifier {
 public:
  /// The string says what is wrong with the encoded key.
  static tl::expected<NoteVerifier, std::string> parse(std::string_view encoded);
  /// Throws difr::Error (usage) when the name is empty or holds a space or a plus sign.
  NoteVerifier(std::string name, const std::array<std::uint8_t, 32>& public_key);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::array<std::uint8_t, 32>& public_key() const { return key_; }
  /// First four bytes, big-endian, of SHA-256(name ‖ newline ‖ 1 ‖ key).
  [[nodiscard]] std::uint32_t key_hash() const;
  [[nodiscard]] std::string encoded() const;
  /// True iff the 64-byte signature over the message is by this key.
  [[nodiscard]] bool verifies(std::string_view message, std::string_view signature) const;

 private:
  std::string name_;
  std::array<std::uint8_t, 32> key_;
};

/// A private key. Encoded: PRIVATE+KEY+name+hash+base64(1 ‖ seed).
class NoteSigner {
 public:
  static tl::expected<NoteSigner, std::string> parse(std::string_view encoded);
  /// From the operating system's random numbers.
  static NoteSigner generate(std::string name);
  /// From the 32-byte seed of RFC 8032.
  NoteSigner(std::string name, const std::array<std::uint8_t, 32>& seed);

  [[nodiscard]] const NoteVerifier& verifier() const { return verifier_; }
  [[nodiscard]] std::string encoded() const;
  /// 64 bytes.
  [[nodiscard]] std::string sign(std::string_view message) const;

 private:
  std::array<std::uint8_t, 32> seed_;
  NoteVerifier verifier_;
};

/// The note with one signature. Throws difr::Error (usage) unless the text ends in a newline and has no control
/// characters.
[[nodiscard]] std::string sign_note(std::string_view text, const NoteSigner& signer);

/// The text, when it carries a valid signature by this verifier (signatures by others are allowed and not looked at);
/// else what is wrong.
[[nodiscard]] tl::expected<std::string, std::string> open_note(std::string_view note, const NoteVerifier& verifier);

}  // namespace difr
