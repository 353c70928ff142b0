// A process that keeps a conversation until it is ended: its arguments are the state directory, the directory, and
// the id of one to take up ("new": begin one). It says on stdout what it begins and what the disk has, one line each,
// and goes on for ever. A fourth argument is how many bytes a file may have, as on a disk that is full then; it ends
// after a while in that case.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "agent/conversation/conversation.h"

using namespace patchbay;

namespace {

using Shared = std::shared_ptr<const ModelMessage>;

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

Shared said(std::string words) {
  return std::make_shared<ModelMessage>(ModelMessage{.parts = {ModelText{std::move(words)}}});
}

Task<void> keep(std::string state, std::string directory, std::string id, std::uint64_t rounds) {
  ConversationOptions options{.state_directory = std::move(state),
                              .directory = std::move(directory),
                              .on_trouble = [](const std::string& text) { say("trouble " + text); }};
  auto conversation = id == "new" ? Conversation::make(options) : co_await Conversation::open(options, id);
  say("id " + conversation->id());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto call = std::to_string(conversation->messages().size());
    ModelMessage wants{.role = Role::assistant, .parts = {ModelText{"I look."}}};
    ModelMessage came;
    for (const auto* which : {"a", "b"}) {
      wants.parts.emplace_back(ModelToolUse{.id = call + which, .name = "t", .input = Json{{"n", round}}});
      came.parts.emplace_back(
          ModelToolOutcome{.id = call + which, .name = "t", .blocks = {ModelText{std::string(2000, 'x')}}});
    }
    auto add = [&](const char* what, ModelMessage message) -> Task<void> {
      say(std::string("begins ") + what);
      co_await conversation->append(std::make_shared<ModelMessage>(std::move(message)), {.output = 1});
      say("has " + std::to_string(conversation->usage().output));
    };
    co_await add("question", *said("question " + call));
    co_await add("calls", std::move(wants));
    co_await add("outcomes", std::move(came));
    co_await add("answer", {.role = Role::assistant, .parts = {ModelText{"so it is"}}});
  }
  say("ends");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::uint64_t rounds = 1'000'000;
  if (argc > 4) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{static_cast<rlim_t>(std::stoul(argv[4])), RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &most);
    rounds = 10;
  }
  return run(keep(argv[1], argv[2], argv[3], rounds));
}
