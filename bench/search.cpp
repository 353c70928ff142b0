// What finding a tool among ten thousand costs, and what making the index does.
//
//   bench-search [SERVERS [TOOLS]]
//
// Prints one JSON object: microseconds of the median and the slowest of many queries, milliseconds for the whole index
// and for the part of one server that changed.
#include <cstdlib>

#include <fmt/format.h>

#include "catalog/fragment.h"
#include "catalog/search/tool_query.h"
#include "figures.h"

using namespace patchbay;

namespace {

// Words as tools have them: some are everywhere, most are rare.
constexpr const char* verbs[] = {"get",    "list", "create", "update", "delete",
                                 "search", "read", "write",  "move",   "send"};
constexpr const char* things[] = {"file",    "issue",   "page",  "message", "user",   "event",  "invoice", "branch",
                                  "comment", "dataset", "image", "channel", "ticket", "domain", "volume",  "secret"};

class Dice {
 public:
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  template <std::size_t N>
  const char* of(const char* const (&from)[N]) {
    return from[next() % N];
  }

 private:
  std::uint64_t state_ = 20261118;
};

Fragment some_tools(Dice& dice, int server, std::size_t count) {
  ServerTools out{fmt::format("server{}", server), {}, NamePrefix::server};
  for (std::size_t i = 0; i < count; ++i) {
    Tool tool;
    const auto* verb = dice.of(verbs);
    const auto* thing = dice.of(things);
    tool.name = fmt::format("{}_{}_{}", verb, thing, i);
    std::string said = fmt::format("Use this to {} one or several {}s of the workspace by its id.", verb, thing);
    // What is only said here: names of fields, of products, of states.
    for (int n = 0; n < 40; ++n) {
      said += n % 4 == 0 ? fmt::format(" term{}", dice.next() % 20'000) : fmt::format(" {}", dice.of(things));
    }
    tool.description = said;
    tool.input_schema = Json{{"type", "object"},
                             {"properties", Json{{fmt::format("{}_id", thing), Json{{"type", "string"}}},
                                                 {fmt::format("option{}_{}", server, i % 7), Json{{"type", "string"}}},
                                                 {"limit", Json{{"type", "integer"}}}}}};
    out.tools.push_back(std::make_shared<const Tool>(std::move(tool)));
  }
  return name_alone(out);
}

}  // namespace

int main(int argc, char** argv) {
  const int servers = argc > 1 ? std::atoi(argv[1]) : 100;
  const std::size_t tools = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 100;
  Dice dice;
  Catalog::Fragments fragments;
  for (int i = 0; i < servers; ++i) fragments.push_back(some_tools(dice, i, tools));
  auto catalog = std::make_shared<const Catalog>(settle_names(fragments));
  ToolIndexes indexes;
  double begin = bench::wall_us();
  (void)indexes.of(catalog);
  const double build_ms = (bench::wall_us() - begin) / 1000;

  fragments.front() = some_tools(dice, 0, tools);
  catalog = std::make_shared<const Catalog>(settle_names(fragments));
  begin = bench::wall_us();
  const auto& index = indexes.of(catalog);
  const double change_ms = (bench::wall_us() - begin) / 1000;

  std::vector<double> each;
  std::size_t found = 0;
  for (int i = 0; i < 1000; ++i) {
    // From two rare words to a sentence of common ones.
    std::string query = fmt::format("{} {}", dice.of(verbs), dice.of(things));
    if (i % 3 == 0) query += fmt::format(" term{}", dice.next() % 20'000);
    if (i % 5 == 0) query = "please " + query + " of the workspace by id, one or several " + dice.of(things);
    begin = bench::wall_us();
    found += match_tools(*catalog, index, query, usual_results).tools.size();
    each.push_back(bench::wall_us() - begin);
  }
  std::ranges::sort(each);
  fmt::print(
      "{{\"measure\":\"search\",\"tools\":{},\"queries\":{},\"median_us\":{:.0f},\"slowest_us\":{:.0f},\"aim_us\":1000,"
      "\"index_ms\":{:.1f},\"change_ms\":{:.2f},\"found\":{}}}\n",
      catalog->size(), each.size(), each[each.size() / 2], each.back(), build_ms, change_ms, found);
  return 0;
}
