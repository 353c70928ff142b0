#include "settings/secret_file.h"

#include <sys/stat.h>

#include <fmt/format.h>

#include "entries/entry.h"
#include "settings/files.h"
#include "text/document.h"
#include "text/shell_word.h"

namespace patchbay {

Result<std::string> stored_secret(const std::string& file, const std::string& name, unsigned owner) {
  auto text = read_owned_text(file, owner, S_IRWXG | S_IRWXO);
  if (text.state == OwnedText::State::absent) {
    return fail(
        Errc::config,
        fmt::format(
            "{} does not exist; create it with {{\"version\": 1, \"secrets\": {{{}: \"…\"}}}} and run: chmod 600{}",
            file, quoted_name(name), shell_operands({file})));
  }
  if (text.state != OwnedText::State::text)
    return fail(Errc::config, fmt::format("{} is not used: {}", file, text.text));
  const auto document = read_document(text.text, file, "an object with \"secrets\"");
  // The reason a reader gives may quote the text; where it is wrong is enough.
  if (!document) {
    return fail(Errc::config, fmt::format("{}:{}:{}: the file is not valid JSON; correct it", file,
                                          document.error().line, document.error().column));
  }
  const auto* value = document->root["secrets"].find(name);
  if (value == nullptr || !value->is_string()) {
    return fail(Errc::config,
                fmt::format("{} has no secret called {}; add it to \"secrets\"", file, quoted_name(name)));
  }
  return std::string(value->as_text());
}

}  // namespace patchbay
