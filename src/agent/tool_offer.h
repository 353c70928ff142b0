// ToolOffer: the tools of one conversation as its model knows them. What a request begins with is frozen, because a
// provider keeps what it has read of the beginning: the same object and the same bytes, whatever servers do. What
// comes, goes or changes later is told as news. Where an API can hold tools outside of what it keeps, those that came
// later or were found go there; otherwise they are added at the end (ToolGrowth). Owned by an agent; it asks nobody, so
// it is as pure as a value.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/model.h>
#include <patchbay/model_view.h>
#include <patchbay/status.h>

namespace patchbay {

// How a server is, as far as a model has to know.
struct ServerNote {
  enum class How : std::uint8_t { ready, starting, away, failed, wants_sign_in, wants_approval } how = How::ready;
  std::string why = {};  // cleaned
};
// None for a server that is not used: disabled, or another entry counts instead.
std::optional<ServerNote> note_of(const ServerStatus& status);

// What there is now.
struct ToolsNow {
  ToolPool pool = {};                                               // what a conversation that begins now is given
  ToolPool searchable = {};                                         // what a search has to find first
  std::map<std::string, std::string, std::less<>> servers_of = {};  // every tool of a server (in the catalog) → server
  std::map<std::string, ServerNote, std::less<>> servers = {};
};

// How a conversation gets a tool that its beginning does not have.
enum class ToolGrowth : std::uint8_t {
  at_end,     // of the list, and what a provider keeps is void
  by_news,    // the API is told of it, and holds it
  by_search,  // the API holds it, and the model may have to search for it: the provider says so where it is so
};
ToolGrowth growth_of(const ModelInfo& model) noexcept;

// What a conversation has said of tools, by the names that the model uses.
struct ToldTools {
  std::set<std::string, std::less<>> gone = {};   // the news say last that they are
  std::set<std::string, std::less<>> named = {};  // announced, or found by a search
};
ToldTools told_tools(const std::vector<std::shared_ptr<const ModelMessage>>& messages);

class ToolOffer {
 public:
  explicit ToolOffer(ToolGrowth growth) : growth_(growth) {}

  // For a new beginning of the same conversation, perhaps with another model: nothing is frozen. What providers refuse
  // is still left out, and what the conversation was told last is known.
  ToolOffer anew(ToolGrowth growth) const {
    ToolOffer next(growth);
    next.refused_ = refused_;
    next.said_ = said_;
    return next;
  }

  ToolGrowth growth() const noexcept { return growth_; }
  bool is_frozen() const noexcept { return pool_ != nullptr; }
  // Of the beginning. News are what is not ready yet, what is there of the tools that the conversation so far calls
  // gone, and what else is not any more as it was told. Tools that it has named stay from now on as they are now.
  ModelNews freeze(const ToolsNow& now, const ToldTools& told = {});
  // The conversation went on with another model, which `last` is the offer of, and comes back to this beginning: the
  // next update() tells what differs from what the conversation was told last.
  void take_up(const ToldTools& told, const ToolOffer& last);
  // What the model has to be told since the last time; an empty text: nothing. Tools in `found` it knows
  // already, by the names that it uses.
  ModelNews update(const ToolsNow& now, const std::set<std::string, std::less<>>& found);
  // A provider refuses these.
  void leave_out(const std::vector<ToolLeftOut>& tools);

  // For a request. Null where there are none.
  const std::shared_ptr<const ToolPool>& pool() const noexcept { return pool_; }
  const std::shared_ptr<const ToolPool>& deferred() const noexcept { return deferred_; }
  // By the name that the model uses.
  const ModelTool* find(std::string_view name) const noexcept;

 private:
  bool is_refused(const ModelTool& tool) const;
  struct Known {
    ModelTool tool;  // as the model was told of it first: what was said refers to that
    ModelTool now;   // as it was told of it last, in words where it had changed
    bool there = true;
    bool frozen = false;  // it is in pool_
  };
  // What was told in words, in the order of the conversation and whichever model was told: a new beginning does not
  // change what stands there.
  struct Said {
    std::map<std::string, std::optional<ServerNote>, std::less<>> servers = {};  // none: it is not used any more
    std::map<std::string, ModelTool, std::less<>> tools = {};                    // that are other ones now
  };
  void say_server(std::string& text, const std::string& server, const ServerNote* note);
  void say_changed(std::string& text, const ModelTool& tool);
  void hold_named(const ToolPool& searchable);
  void set_deferred(const ToolPool& searchable);

  ToolGrowth growth_;
  std::shared_ptr<const ToolPool> pool_;
  std::shared_ptr<const ToolPool> deferred_;
  std::map<std::string, Known, std::less<>> known_;  // by the name that the model uses
  ToldTools told_;                                   // before the beginning, or by another one
  std::set<std::string, std::less<>> refused_;       // left out for good
  std::map<std::string, ServerNote, std::less<>> servers_;
  std::set<std::string, std::less<>> instructed_;  // servers whose instructions the model has
  Said said_;
};

}  // namespace patchbay
