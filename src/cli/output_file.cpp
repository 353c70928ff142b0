#include "cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/crypto.h"
#include "cli/texts/present.h"

namespace patchbay::cli {
namespace {

namespace fs = std::filesystem;

std::string decoded(const std::string& text) {
  auto bytes = base64_decode(text);
  if (bytes) return std::move(*bytes);
  throw Error(Errc::protocol, "a file in the result is not valid base64; report it to the server's author");
}

[[noreturn]] void cannot_write(const std::string& file, std::string_view why) {
  throw Error(Errc::invalid_argument, fmt::format("--output: {} cannot be written: {}", file, why));
}

// `fresh`: only where there is nothing yet.
void write_one(const std::string& file, std::string_view bytes, bool fresh) {
  constexpr int ways = O_WRONLY | O_CREAT | O_CLOEXEC;
  int fd = ::open(file.c_str(), ways | O_EXCL | O_NOFOLLOW, 0666);
  const bool made = fd >= 0;
  if (!made && !fresh && errno == EEXIST) fd = ::open(file.c_str(), ways | O_TRUNC, 0666);
  if (fd < 0) cannot_write(file, std::strerror(errno));
  int fault = 0;
  while (!bytes.empty() && fault == 0) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written >= 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) fault = errno;
  }
  if (::close(fd) != 0 && fault == 0) fault = errno;
  if (fault == 0) return;
  // Half a file looks like a whole one.
  if (made) (void)::unlink(file.c_str());
  cannot_write(file, std::strerror(fault));
}

// out.png, out.2.png, out.3.png
std::string numbered(const std::string& file, std::size_t number) {
  if (number == 1) return file;
  const fs::path path(file);
  return (path.parent_path() / fmt::format("{}.{}{}", path.stem().string(), number, path.extension().string()))
      .string();
}

}  // namespace

std::vector<OutputPart> binary_parts(const std::vector<Content>& content) {
  std::vector<OutputPart> out;
  for (const auto& block : content) {
    if (const auto* image = std::get_if<ImageContent>(&block)) {
      out.push_back({decoded(image->data), image->mime_type});
    } else if (const auto* audio = std::get_if<AudioContent>(&block)) {
      out.push_back({decoded(audio->data), audio->mime_type});
    } else if (const auto* file = std::get_if<EmbeddedResource>(&block); file && file->resource.blob) {
      out.push_back(binary_part(file->resource));
    }
  }
  return out;
}

std::size_t binary_count(const std::vector<Content>& content) {
  return static_cast<std::size_t>(std::ranges::count_if(content, [](const Content& block) {
    const auto* file = std::get_if<EmbeddedResource>(&block);
    return std::holds_alternative<ImageContent>(block) || std::holds_alternative<AudioContent>(block) ||
           (file && file->resource.blob);
  }));
}

OutputPart binary_part(const ResourceContents& contents) {
  return {contents.text ? *contents.text : decoded(contents.blob.value_or("")), contents.mime_type.value_or("file")};
}

void check_output(const std::string& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) cannot_write(file, "it is a directory");
  const auto parent = fs::absolute(file, error).parent_path();
  if (!fs::is_directory(parent, error)) cannot_write(file, fmt::format("{} is not a directory", parent.string()));
  const auto& looked_at = fs::exists(file, error) ? fs::path(file) : parent;
  if (::access(looked_at.c_str(), W_OK) != 0) cannot_write(file, std::strerror(errno));
}

void write_output(const std::string& file, const std::vector<OutputPart>& parts, Io& io, bool quiet) {
  constexpr std::size_t most_files = 100;
  if (parts.size() > most_files) {
    throw Error(Errc::limit, fmt::format("the result has {} files; at most {} are written", parts.size(), most_files));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto name = numbered(file, i + 1);
    // The user named one file; how many more there are is the server's choice.
    write_one(name, parts[i].bytes, i > 0);
    if (quiet) continue;
    io.talk(fmt::format("Wrote {} ({}, {} bytes)\n", safe_name(name, 1000), safe_name(parts[i].kind, 60),
                        parts[i].bytes.size()));
  }
}

}  // namespace patchbay::cli
