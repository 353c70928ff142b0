#include "support/rule_lists.h"

#include <patchbay/json.h>

namespace patchbay::test {

std::vector<SettingsLayer> settings_with(const RuleLists& lists, const std::string& file) {
  auto texts = [](const std::vector<std::string>& rules) {
    Json out = Json::array();
    for (const auto& rule : rules) out.push_back(rule);
    return out;
  };
  const Json rules{{"allow", texts(lists.allow)}, {"ask", texts(lists.ask)}, {"deny", texts(lists.deny)}};
  return {parse_settings(to_text(Json{{"permissions", rules}}), SettingsSource::user, file)};
}

}  // namespace patchbay::test
