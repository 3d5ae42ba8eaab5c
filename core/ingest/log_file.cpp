#include "core/ingest/log_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/util/error.h"
#include "core/util/sha256.h"

namespace difr {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

struct stat status_of(int fd, const std::string& name) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) throw bad_input(name, fmt::format("cannot be read: {}", std::strerror(errno)));
  return info;
}

std::int64_t modified(const struct stat& info) {
  return static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

/// An unnamed file, gone with its descriptor even when the process is killed.
int open_spool(const std::filesystem::path& folder, const std::string& name) {
  auto pattern = (std::filesystem::absolute(folder.empty() ? "." : folder) / ".difr-spool-XXXXXX").string();
  const int fd = ::mkstemp(pattern.data());
  if (fd < 0)
    throw environment_error(name, fmt::format("cannot be spooled to {}: {}", pattern, std::strerror(errno)),
                            "make the folder of the case file writable");
  ::unlink(pattern.c_str());
  return fd;
}

void write_all(int fd, const char* data, std::size_t size, const std::string& name) {
  while (size > 0) {
    const auto written = ::write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw environment_error(name, fmt::format("cannot be spooled: {}", std::strerror(errno)), "free disk space");
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace

LogFile::LogFile(const std::filesystem::path& path, const std::filesystem::path& spool_folder,
                 const std::stop_token& stop)
    : given_(path), path_(path), name_(path == "-" ? "standard input" : path.string()) {
  const Descriptor in(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (in.get() < 0)
    throw bad_input(name_, fmt::format("cannot be opened: {}", std::strerror(errno)),
                    "check the path and its permissions");
  const auto info = status_of(in.get(), name_);
  if (S_ISDIR(info.st_mode)) throw bad_input(name_, "is a folder, not a log", "name the files in it");
  if (!S_ISREG(info.st_mode)) {
    spool_ = open_spool(spool_folder, name_);
    path_ = fmt::format("/proc/self/fd/{}", spool_);
  }
  Sha256 hash;
  std::vector<char> buffer(1u << 18);
  while (!stop.stop_requested()) {
    const auto got = ::read(in.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw bad_input(name_, fmt::format("reading failed: {}", std::strerror(errno)),
                      "check the disk or the network share");
    if (got == 0) break;
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    if (spool_ >= 0) write_all(spool_, buffer.data(), static_cast<std::size_t>(got), name_);
    size_ += got;
  }
  sha256_ = to_hex(hash.finish());
  modified_ns_ = modified(info);
}

LogFile::~LogFile() {
  if (spool_ >= 0) ::close(spool_);
}

std::string LogFile::recorded_path() const {
  return spool_ >= 0 ? name_ : std::filesystem::absolute(given_).lexically_normal().string();
}

std::string LogFile::stem() const {
  if (given_ == "-") return "stdin";
  auto stem = given_.filename();
  while (stem.extension() == ".gz" || stem.extension() == ".zst" || stem.extension() == ".json" ||
         stem.extension() == ".jsonl" || stem.extension() == ".ndjson" || stem.extension() == ".sse")
    stem = stem.stem();
  return stem.string();
}

void LogFile::require_unchanged() const {
  if (spool_ >= 0) return;
  const Descriptor now(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (now.get() >= 0) info = status_of(now.get(), name_);
  if (now.get() < 0 || info.st_size != size_ || modified(info) != modified_ns_)
    throw bad_input(name_, "was changed while it was imported", "wait until it is complete, and import it again");
}

}  // namespace difr
