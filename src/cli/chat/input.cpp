#include "cli/chat/input.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/offload.h"
#include "base/strings.h"
#include "base/whole_file.h"
#include "cli/texts/present.h"
#include "results/image_header.h"
#include "text/clean_text.h"

namespace patchbay::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_files = 16;
constexpr std::size_t longest_file = 200'000;    // of a text, in bytes; the rest is left out, and said
constexpr std::size_t largest_file = 16u << 20;  // of what is read at all
constexpr std::size_t largest_image = 5u << 20;  // models take no larger ones
constexpr std::size_t most_candidates = 50;
constexpr std::size_t most_looked_at = 20'000;

struct FileMention {
  std::string word;  // as typed, with the @
  std::string path;
};

// @path or @"a path" at the beginning of a word, without the punctuation that ends a sentence.
std::vector<FileMention> file_mentions(std::string_view text) {
  std::vector<FileMention> out;
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string_view::npos && out.size() < most_files; ++at) {
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n' || text[at - 1] == '(';
    if (!begins || at + 1 >= text.size()) continue;
    if (text[at + 1] == '"') {
      const auto end = text.find('"', at + 2);
      if (end == std::string_view::npos) continue;
      out.push_back({std::string(text.substr(at, end + 1 - at)), std::string(text.substr(at + 2, end - at - 2))});
      continue;
    }
    auto word = text.substr(at + 1, text.find_first_of(" \n\t", at) - at - 1);
    while (!word.empty() && std::string_view(".,;:!?)").find(word.back()) != std::string_view::npos) {
      word.remove_suffix(1);
    }
    if (!word.empty()) out.push_back({"@" + std::string(word), std::string(word)});
  }
  return out;
}

fs::path absolute_path(const std::string& path, const std::string& directory) {
  if (path == "~" || path.starts_with("~/")) {
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home != '\0') return fs::path(home) / path.substr(std::min<std::size_t>(2, path.size()));
  }
  return fs::path(path).is_absolute() ? fs::path(path) : fs::path(directory) / path;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += at + i <= bytes.size() ? letters[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return out;
}

struct Added {
  std::string text;
  std::optional<ModelImage> image;
  std::string note;
};

// Nothing where there is no such file.
std::optional<Added> read_mentioned(const FileMention& mention, const std::string& directory) {
  const auto path = absolute_path(mention.path, directory);
  std::error_code error;
  const auto kind = fs::status(path, error).type();
  const auto shown = safe_name(mention.path, 200);
  if (kind == fs::file_type::directory) {
    std::vector<std::string> names;
    for (fs::directory_iterator it(path, error), end; !error && it != end && names.size() < 1000; it.increment(error)) {
      names.push_back(it->path().filename().string() + (it->is_directory(error) ? "/" : ""));
    }
    std::ranges::sort(names);
    return Added{
        fmt::format("\n\n<directory path=\"{}\">\n{}\n</directory>", shown, clean_for_display(join(names, "\n"))),
        {},
        fmt::format("{}: {}", shown, plural(names.size(), "name"))};
  }
  if (kind != fs::file_type::regular) return std::nullopt;
  auto read = read_whole_file(path.string(), largest_file);
  if (!read) return Added{{}, {}, fmt::format("{} is not added: {}", shown, message_line(read.error().message(), 300))};
  if (!*read) return std::nullopt;
  const auto& bytes = **read;
  if (const auto image = image_header(bytes)) {
    if (bytes.size() > largest_image)
      return Added{{}, {}, fmt::format("{} is not added: images may have 5 MiB", shown)};
    return Added{{},
                 ModelImage{base64(bytes), std::string(image->mime_type), image->width, image->height},
                 fmt::format("{}: an image, {} x {}", shown, image->width, image->height)};
  }
  if (bytes.find('\0') != std::string::npos || !valid_utf8(bytes)) {
    return Added{{}, {}, fmt::format("{} is not added: it is no text", shown)};
  }
  const auto text = cut_utf8(bytes, longest_file);
  Added out;
  out.text = fmt::format("\n\n<file path=\"{}\">\n{}{}</file>", shown, clean_for_display(text),
                         text.ends_with('\n') ? "" : "\n");
  out.note = fmt::format("{}: {}", shown, plural(static_cast<std::size_t>(std::ranges::count(text, '\n')), "line"));
  if (text.size() < bytes.size()) {
    out.text += fmt::format("\n(The file has {} more bytes.)", bytes.size() - text.size());
    out.note += fmt::format(", and {} bytes that are left out", bytes.size() - text.size());
  }
  return out;
}

}  // namespace

Task<ChatInput> chat_input(ModelTools& tools, std::string text, std::string directory, CallOptions options) {
  ChatInput out;
  out.input.text = text;
  if (text.find('@') == std::string::npos) co_return out;
  const auto mentioned = co_await tools.mentioned(text, std::move(options));
  for (const auto& one : mentioned) {
    const auto shown = safe_name(fmt::format("@{}:{}", one.server, one.uri), 200);
    std::string content;
    for (const auto& block : one.for_model) {
      if (const auto* said = std::get_if<TextContent>(&block)) content += said->text + "\n";
    }
    out.input.text += fmt::format("\n\n<resource server=\"{}\" uri=\"{}\">\n{}</resource>", safe_name(one.server, 100),
                                  safe_name(one.uri, 1000), content);
    out.notes.push_back(one.error ? fmt::format("{}: {}", shown, message_line(one.error->message(), 300))
                                  : fmt::format("{}: {} bytes{}", shown, content.size(),
                                                one.read && one.read->from_before ? ", from before" : ""));
  }
  auto files = file_mentions(text);
  std::erase_if(files, [&](const FileMention& file) {
    return std::ranges::any_of(mentioned, [&](const MentionedResource& one) {
      return text.compare(one.begin, file.word.size(), file.word) == 0;
    });
  });
  std::ranges::sort(files, {}, &FileMention::path);
  const auto twice = std::ranges::unique(files, {}, &FileMention::path);
  files.erase(twice.begin(), twice.end());
  if (files.empty()) co_return out;
  auto added = co_await offload(Pool::slow, [files, directory] {
    std::vector<std::optional<Added>> all;
    for (const auto& file : files) all.push_back(read_mentioned(file, directory));
    return all;
  });
  for (std::size_t i = 0; i < added.size(); ++i) {
    auto& one = added[i];
    if (!one) {
      out.notes.push_back(
          fmt::format("{}: there is no such file; it is sent as a word", safe_name(files[i].word, 200)));
      continue;
    }
    out.input.text += one->text;
    if (one->image) out.input.images.push_back(std::move(*one->image));
    out.notes.push_back(std::move(one->note));
  }
  co_return out;
}

std::string prompt_text(const GetPromptResult& prompt) {
  std::string out;
  for (const auto& message : prompt.messages) {
    if (!out.empty()) out += "\n\n";
    if (message.role == Role::assistant) out += "You said: ";
    if (const auto* text = std::get_if<TextContent>(&message.content)) {
      out += clean_for_display(text->text);
    } else if (const auto* resource = std::get_if<EmbeddedResource>(&message.content)) {
      if (resource->resource.text) out += clean_for_display(*resource->resource.text);
    }
  }
  return out;
}

std::vector<terminal::Candidate> file_candidates(const std::string& word, const std::string& directory) {
  std::vector<terminal::Candidate> out;
  const bool quoted = word.starts_with("@\"");
  const auto typed = word.substr(quoted ? 2 : 1);
  const auto slash = typed.rfind('/');
  const auto folder = slash == std::string::npos ? std::string() : typed.substr(0, slash + 1);
  const auto name = slash == std::string::npos ? typed : typed.substr(slash + 1);
  std::error_code error;
  std::size_t seen = 0;
  for (fs::directory_iterator it(absolute_path(folder.empty() ? "." : folder, directory), error), end;
       !error && it != end && seen < most_looked_at && out.size() < most_candidates; it.increment(error), ++seen) {
    const auto found = it->path().filename().string();
    // Names that begin with a dot when they are asked for.
    if (!found.starts_with(name) || (name.empty() && found.starts_with('.'))) continue;
    if (clean_line(found) != found || found.find('"') != std::string::npos) continue;
    std::error_code ignored;
    auto whole = folder + found + (it->is_directory(ignored) ? "/" : "");
    const bool blanks = whole.find(' ') != std::string::npos;
    out.push_back({quoted || blanks ? "@\"" + whole + (whole.ends_with('/') ? "" : "\"") : "@" + whole});
  }
  std::ranges::sort(out, {}, &terminal::Candidate::text);
  return out;
}

}  // namespace patchbay::cli
