#include "cli/output_file.h"

#include <errno.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

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

void write_one(const std::string& file, const std::string& bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out || !out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())) || !out.flush()) {
    cannot_write(file, std::strerror(errno));
  }
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
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto name = i == 0 ? file : fmt::format("{}.{}", file, i + 1);
    write_one(name, parts[i].bytes);
    if (quiet) continue;
    io.talk(fmt::format("Wrote {} ({}, {} bytes)\n", safe_name(name, 1000), safe_name(parts[i].kind, 60),
                        parts[i].bytes.size()));
  }
}

}  // namespace patchbay::cli
