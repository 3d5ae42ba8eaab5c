#include "core/ingest/byte_source.h"

#include <archive.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/util/error.h"

namespace difr {
namespace {

constexpr std::size_t chunk_bytes = 1u << 18;

struct FreeArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};

/// Containers that are recognised only to say what to do about them.
void refuse_foreign(const std::string& name, std::string_view head) {
  struct Known {
    std::string_view magic, what, remedy;
  };
  static constexpr std::array<Known, 7> known = {{
      {"PK\x03\x04", "is a zip archive",
       "unpack it and import the JSON inside (for Inspect: inspect log convert --to json)"},
      {"PAR1", "is a Parquet file", "convert it to JSONL, one row a line"},
      {"BZh", "is compressed with bzip2", "unpack it, or pack it with gzip or zstd"},
      {"\xfd"
       "7zXZ",
       "is compressed with xz", "unpack it, or pack it with gzip or zstd"},
      {"SQLite format 3", "is an SQLite database", "open it as a case with --case, or export its rows to JSONL"},
      {"\x89"
       "PNG",
       "is an image", "choose a log"},
      {"%PDF", "is a PDF", "choose a log"},
  }};
  for (const auto& k : known)
    if (head.substr(0, k.magic.size()) == k.magic) throw bad_input(name, std::string(k.what), std::string(k.remedy));
  if (head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5)
    throw bad_input(name, "is a Python pickle, which is never read because it can run code",
                    "convert it to JSON in a sandbox of your own");
}

}  // namespace

struct ByteSource::Impl {
  std::string name;
  int fd = -1;
  std::int64_t done = 0, total = -1;
  std::vector<char> head;  ///< bytes read while sniffing, to be handed out first
  std::size_t head_used = 0;
  std::vector<char> chunk = std::vector<char>(chunk_bytes);
  std::unique_ptr<archive, FreeArchive> unpack;
  const char* compression = "plain";
  std::optional<std::string> damage;

  ~Impl() {
    if (fd >= 0) ::close(fd);
  }

  std::size_t read_raw(char* to, std::size_t size) {
    ssize_t got = -1;
    do {
      got = ::read(fd, to, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      damage = fmt::format("reading failed: {}", std::strerror(errno));
      return 0;
    }
    done += got;
    return static_cast<std::size_t>(got);
  }

  std::size_t next_raw(char* to, std::size_t size) {
    if (head_used < head.size()) {
      const auto n = std::min(size, head.size() - head_used);
      std::memcpy(to, head.data() + head_used, n);
      head_used += n;
      return n;
    }
    return read_raw(to, size);
  }

  static la_ssize_t feed(archive*, void* self, const void** buffer) {
    auto& impl = *static_cast<Impl*>(self);
    *buffer = impl.chunk.data();
    return static_cast<la_ssize_t>(impl.next_raw(impl.chunk.data(), impl.chunk.size()));
  }

  void open_archive() {
    unpack.reset(archive_read_new());
    archive_read_support_filter_gzip(unpack.get());
    archive_read_support_filter_zstd(unpack.get());
    archive_read_support_format_raw(unpack.get());
    archive_read_support_format_empty(unpack.get());
    archive_entry* entry = nullptr;
    if (archive_read_open(unpack.get(), this, nullptr, &Impl::feed, nullptr) != ARCHIVE_OK ||
        archive_read_next_header(unpack.get(), &entry) != ARCHIVE_OK || archive_filter_count(unpack.get()) < 2)
      damage = fmt::format("{} stream cannot be unpacked: {}", compression, error_text());
  }

  const char* error_text() const {
    const char* text = archive_error_string(unpack.get());
    return text ? text : "damaged";
  }
};

ByteSource::ByteSource(const std::filesystem::path& path, std::string name) : impl_(std::make_unique<Impl>()) {
  auto& s = *impl_;
  s.name = std::move(name);
  s.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (s.fd < 0)
    throw bad_input(s.name, fmt::format("cannot be opened: {}", std::strerror(errno)),
                    "check the path and its permissions");
  struct stat info {};
  if (::fstat(s.fd, &info) != 0 || S_ISDIR(info.st_mode))
    throw bad_input(s.name, "is a folder, not a log", "name the files in it");
  if (S_ISREG(info.st_mode)) s.total = info.st_size;
  // A pipe may hand out fewer bytes than asked for.
  std::array<char, 16> first{};
  std::size_t got = 0;
  while (got < first.size()) {
    const auto n = s.read_raw(first.data() + got, first.size() - got);
    if (n == 0) break;
    got += n;
  }
  s.head.assign(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(got));
  const std::string_view head(s.head.data(), s.head.size());
  if (head.starts_with("\x1f\x8b"))
    s.compression = "gzip";
  else if (head.starts_with("\x28\xb5\x2f\xfd"))
    s.compression = "zstd";
  else
    refuse_foreign(s.name, head);
  if (std::string_view(s.compression) != "plain") s.open_archive();
}

ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

std::size_t ByteSource::read(char* to, std::size_t size) {
  auto& s = *impl_;
  if (s.damage) return 0;
  if (!s.unpack) return s.next_raw(to, size);
  const auto got = archive_read_data(s.unpack.get(), to, size);
  if (got < 0) {
    s.damage = fmt::format("{} stream is damaged or truncated: {}", s.compression, s.error_text());
    return 0;
  }
  return static_cast<std::size_t>(got);
}

const std::optional<std::string>& ByteSource::damage() const {
  return impl_->damage;
}
std::int64_t ByteSource::raw_done() const {
  return impl_->done;
}
std::int64_t ByteSource::raw_total() const {
  return impl_->total;
}
const char* ByteSource::compression() const {
  return impl_->compression;
}

const std::string& ByteSource::name() const {
  return impl_->name;
}

}  // namespace difr
