// RFC 6570 expansion by the RFC's own examples, and matching for servers.
#include "protocol/uri_template.h"

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;
using testing::ElementsAre;
using Found = std::map<std::string, std::string>;

// The variables of section 3.2 of the RFC.
const UriTemplate::Values& rfc_values() {
  static const UriTemplate::Values values{
      {"count", UriTemplate::List{"one", "two", "three"}},
      {"dom", UriTemplate::List{"example", "com"}},
      {"dub", "me/too"},
      {"hello", "Hello World!"},
      {"half", "50%"},
      {"var", "value"},
      {"who", "fred"},
      {"base", "http://example.com/home/"},
      {"path", "/foo/bar"},
      {"list", UriTemplate::List{"red", "green", "blue"}},
      {"keys", UriTemplate::Pairs{{"semi", ";"}, {"dot", "."}, {"comma", ","}}},
      {"v", "6"},
      {"x", "1024"},
      {"y", "768"},
      {"empty", ""},
      {"empty_keys", UriTemplate::Pairs{}},
  };
  return values;
}

struct Expansion {
  std::string text;
  std::string uri;
};

TEST(UriTemplate, RfcExamples_Expand) {
  const std::vector<Expansion> cases{
      // 3.2.1 variable expansion
      {"{count}", "one,two,three"},
      {"{count*}", "one,two,three"},
      {"{/count}", "/one,two,three"},
      {"{/count*}", "/one/two/three"},
      {"{;count}", ";count=one,two,three"},
      {"{;count*}", ";count=one;count=two;count=three"},
      {"{?count}", "?count=one,two,three"},
      {"{?count*}", "?count=one&count=two&count=three"},
      {"{&count*}", "&count=one&count=two&count=three"},
      // 3.2.2 simple string expansion
      {"{var}", "value"},
      {"{hello}", "Hello%20World%21"},
      {"{half}", "50%25"},
      {"O{empty}X", "OX"},
      {"O{undef}X", "OX"},
      {"{x,y}", "1024,768"},
      {"{x,hello,y}", "1024,Hello%20World%21,768"},
      {"?{x,empty}", "?1024,"},
      {"?{x,undef}", "?1024"},
      {"?{undef,y}", "?768"},
      {"{var:3}", "val"},
      {"{var:30}", "value"},
      {"{list}", "red,green,blue"},
      {"{list*}", "red,green,blue"},
      {"{keys}", "semi,%3B,dot,.,comma,%2C"},
      {"{keys*}", "semi=%3B,dot=.,comma=%2C"},
      // 3.2.3 reserved expansion
      {"{+var}", "value"},
      {"{+hello}", "Hello%20World!"},
      {"{+half}", "50%25"},
      {"{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"},
      {"{+base}index", "http://example.com/home/index"},
      {"O{+empty}X", "OX"},
      {"O{+undef}X", "OX"},
      {"{+path}/here", "/foo/bar/here"},
      {"here?ref={+path}", "here?ref=/foo/bar"},
      {"up{+path}{var}/here", "up/foo/barvalue/here"},
      {"{+x,hello,y}", "1024,Hello%20World!,768"},
      {"{+path,x}/here", "/foo/bar,1024/here"},
      {"{+path:6}/here", "/foo/b/here"},
      {"{+list}", "red,green,blue"},
      {"{+list*}", "red,green,blue"},
      {"{+keys}", "semi,;,dot,.,comma,,"},
      {"{+keys*}", "semi=;,dot=.,comma=,"},
      // 3.2.4 fragment expansion
      {"{#var}", "#value"},
      {"{#hello}", "#Hello%20World!"},
      {"{#half}", "#50%25"},
      {"foo{#empty}", "foo#"},
      {"foo{#undef}", "foo"},
      {"{#x,hello,y}", "#1024,Hello%20World!,768"},
      {"{#path,x}/here", "#/foo/bar,1024/here"},
      {"{#path:6}/here", "#/foo/b/here"},
      {"{#list}", "#red,green,blue"},
      {"{#list*}", "#red,green,blue"},
      {"{#keys}", "#semi,;,dot,.,comma,,"},
      {"{#keys*}", "#semi=;,dot=.,comma=,"},
      // 3.2.5 label expansion
      {"{.who}", ".fred"},
      {"{.who,who}", ".fred.fred"},
      {"{.half,who}", ".50%25.fred"},
      {"www{.dom*}", "www.example.com"},
      {"X{.var}", "X.value"},
      {"X{.empty}", "X."},
      {"X{.undef}", "X"},
      {"X{.var:3}", "X.val"},
      {"X{.list}", "X.red,green,blue"},
      {"X{.list*}", "X.red.green.blue"},
      {"X{.keys}", "X.semi,%3B,dot,.,comma,%2C"},
      {"X{.keys*}", "X.semi=%3B.dot=..comma=%2C"},
      {"X{.empty_keys}", "X"},
      {"X{.empty_keys*}", "X"},
      // 3.2.6 path segment expansion
      {"{/who}", "/fred"},
      {"{/who,who}", "/fred/fred"},
      {"{/half,who}", "/50%25/fred"},
      {"{/who,dub}", "/fred/me%2Ftoo"},
      {"{/var}", "/value"},
      {"{/var,empty}", "/value/"},
      {"{/var,undef}", "/value"},
      {"{/var,x}/here", "/value/1024/here"},
      {"{/var:1,var}", "/v/value"},
      {"{/list}", "/red,green,blue"},
      {"{/list*}", "/red/green/blue"},
      {"{/list*,path:4}", "/red/green/blue/%2Ffoo"},
      {"{/keys}", "/semi,%3B,dot,.,comma,%2C"},
      {"{/keys*}", "/semi=%3B/dot=./comma=%2C"},
      // 3.2.7 path-style parameter expansion
      {"{;who}", ";who=fred"},
      {"{;half}", ";half=50%25"},
      {"{;empty}", ";empty"},
      {"{;v,empty,who}", ";v=6;empty;who=fred"},
      {"{;v,bar,who}", ";v=6;who=fred"},
      {"{;x,y}", ";x=1024;y=768"},
      {"{;x,y,empty}", ";x=1024;y=768;empty"},
      {"{;x,y,undef}", ";x=1024;y=768"},
      {"{;hello:5}", ";hello=Hello"},
      {"{;list}", ";list=red,green,blue"},
      {"{;list*}", ";list=red;list=green;list=blue"},
      {"{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"},
      {"{;keys*}", ";semi=%3B;dot=.;comma=%2C"},
      // 3.2.8 form-style query expansion
      {"{?who}", "?who=fred"},
      {"{?half}", "?half=50%25"},
      {"{?x,y}", "?x=1024&y=768"},
      {"{?x,y,empty}", "?x=1024&y=768&empty="},
      {"{?x,y,undef}", "?x=1024&y=768"},
      {"{?var:3}", "?var=val"},
      {"{?list}", "?list=red,green,blue"},
      {"{?list*}", "?list=red&list=green&list=blue"},
      {"{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"},
      {"{?keys*}", "?semi=%3B&dot=.&comma=%2C"},
      // 3.2.9 form-style query continuation
      {"{&who}", "&who=fred"},
      {"{&half}", "&half=50%25"},
      {"?fixed=yes{&x}", "?fixed=yes&x=1024"},
      {"{&x,y,empty}", "&x=1024&y=768&empty="},
      {"{&var:3}", "&var=val"},
      {"{&list}", "&list=red,green,blue"},
      {"{&list*}", "&list=red&list=green&list=blue"},
      {"{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"},
      {"{&keys*}", "&semi=%3B&dot=.&comma=%2C"},
      // literals
      {"", ""},
      {"a b/ü/%41/%", "a%20b/%C3%BC/%41/%25"},
  };
  for (const Expansion& each : cases) {
    SCOPED_TRACE(each.text);
    const auto parsed = UriTemplate::parse(each.text);
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(parsed->expand(rfc_values()).value(), each.uri);
  }
}

TEST(UriTemplate, Prefixes_CountCharactersNotBytes) {
  const auto parsed = UriTemplate::parse("{v:2}").value();
  EXPECT_EQ(parsed.expand({{"v", "üöä"}}).value(), "%C3%BC%C3%B6");
}

TEST(UriTemplate, ReservedExpansion_KeepsTripletsThatAreThere) {
  EXPECT_EQ(UriTemplate::parse("{+v}").value().expand({{"v", "a%2Fb%zz"}}).value(), "a%2Fb%25zz");
  EXPECT_EQ(UriTemplate::parse("{v}").value().expand({{"v", "a%2Fb"}}).value(), "a%252Fb");
}

TEST(UriTemplate, MalformedTemplates_AreRefusedWithThePlace) {
  struct Case {
    std::string text;
    std::string message;
  };
  for (const auto& [text, message] : std::vector<Case>{
           {"a{b", "URI template: '{' without '}' at byte 1"},
           {"a}b", "URI template: '}' without '{' at byte 1"},
           {"a{}", "URI template: expected a variable name at byte 2"},
           {"{a,}", "URI template: expected a variable name at byte 3"},
           {"{=a}", "URI template: expected a variable name at byte 1"},
           {"{.a.}", "URI template: expected a variable name at byte 4"},
           {"{a..b}", "URI template: expected a variable name at byte 3"},
           {"{a b}", "URI template: unexpected ' ' at byte 2"},
           {"{a:0}", "URI template: expected a length from 1 to 9999 at byte 3"},
           {"{a:}", "URI template: expected a length from 1 to 9999 at byte 3"},
           {"{a:12345}", "URI template: unexpected '5' at byte 7"},
           {"{a**}", "URI template: unexpected '*' at byte 3"},
           {"{{a}}", "URI template: expected a variable name at byte 1"},
       }) {
    SCOPED_TRACE(text);
    const auto parsed = UriTemplate::parse(text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code(), Errc::invalid_argument);
    EXPECT_EQ(parsed.error().message(), message);
  }
}

TEST(UriTemplate, Sizes_AreBounded) {
  EXPECT_THAT(UriTemplate::parse(std::string(UriTemplate::max_template + 1, 'a')), FailsWith(Errc::limit));
  std::string many;
  for (std::size_t i = 0; i <= UriTemplate::max_variables; ++i) many += "{a}";
  EXPECT_THAT(UriTemplate::parse(many), FailsWith(Errc::limit));
  const auto twice = UriTemplate::parse("{a}{a}").value();
  EXPECT_THAT(twice.expand({{"a", std::string(UriTemplate::max_expansion / 2 + 1, 'x')}}), FailsWith(Errc::limit));
  EXPECT_THAT(twice.expand({{"a", std::string(UriTemplate::max_expansion + 1, 'x')}}), FailsWith(Errc::limit));
  EXPECT_EQ(UriTemplate::parse("{+a}").value().match(std::string(UriTemplate::max_uri + 1, 'a')), std::nullopt);
}

TEST(UriTemplate, Variables_AreNamedOnceInOrder) {
  EXPECT_THAT(UriTemplate::parse("a:{z}/{+b.c}{?a,z,q*}").value().variables(), ElementsAre("z", "b.c", "a", "q"));
}

struct Match {
  std::string text;
  std::string uri;
  std::optional<Found> found;
};

// R1
TEST(UriTemplate, Uris_Match) {
  const std::vector<Match> cases{
      {"file:///fixed", "file:///fixed", Found{}},
      {"file:///fixed", "file:///fixe", std::nullopt},
      {"file:///fixed", "file:///fixed2", std::nullopt},
      {"", "", Found{}},
      {"users://{id}", "users://42", Found{{"id", "42"}}},
      {"users://{id}", "users://", std::nullopt},
      {"users://{id}", "users://4/2", std::nullopt},
      {"users://{id}/profile", "users://42/profile", Found{{"id", "42"}}},
      {"users://{id}/profile", "users://42/profil", std::nullopt},
      {"users://{id}", "users://a%2Fb%20c", Found{{"id", "a/b c"}}},
      {"users://{id}", "users://%C3%BC", Found{{"id", "ü"}}},
      {"users://{id}", "users://%FF", Found{{"id", "%FF"}}},
      {"users://{id}", "users://%4", Found{{"id", "%4"}}},
      {"file:///{+path}", "file:///a/b/c.txt", Found{{"path", "a/b/c.txt"}}},
      {"file:///{+path}", "file:///", std::nullopt},
      {"x:{+dir}/{name}.{ext}", "x:a/b/c.tar.gz", Found{{"dir", "a/b"}, {"name", "c.tar"}, {"ext", "gz"}}},
      {"x:{a}-{b}", "x:1-2-3", Found{{"a", "1-2"}, {"b", "3"}}},
      {"x:{a,b}", "x:1,2", Found{{"a", "1"}, {"b", "2"}}},
      {"x:{a,b}", "x:1", std::nullopt},
      {"x:{a}{a}", "x:77", Found{{"a", "7"}}},
      {"x:{a}/{a}", "x:7/8", std::nullopt},
      {"x:y{/a,b}", "x:y/1/2", Found{{"a", "1"}, {"b", "2"}}},
      {"x:y{/a}", "x:y", std::nullopt},
      {"x:y{/a*}", "x:y/1/2/3", Found{{"a", "1/2/3"}}},
      {"x:y{.a}", "x:y.txt", Found{{"a", "txt"}}},
      {"x:y{#a}", "x:y#sec/1", Found{{"a", "sec/1"}}},
      {"search{?q}", "search?q=a%20b", Found{{"q", "a b"}}},
      {"search{?q}", "search", Found{}},
      {"search{?q}", "search?q=", Found{{"q", ""}}},
      {"search{?q}", "search?", std::nullopt},
      {"search{?q}", "search?r=1", std::nullopt},
      {"search{?q}", "search?q=1&q=2", std::nullopt},
      {"search{?q,lang}", "search?lang=en&q=x", Found{{"q", "x"}, {"lang", "en"}}},
      {"search{?q,lang}", "search?lang=en", Found{{"lang", "en"}}},
      {"search{?q}{&lang}", "search?q=x&lang=en", Found{{"q", "x"}, {"lang", "en"}}},
      {"search?v=1{&q}", "search?v=1&q=x", Found{{"q", "x"}}},
      {"search?v=1{&q}", "search?v=1", Found{}},
      {"x:{id}{?q}", "x:7?q=1", Found{{"id", "7"}, {"q", "1"}}},
      {"x:{id}{?q}{#f}", "x:7?q=1#top", Found{{"id", "7"}, {"q", "1"}, {"f", "top"}}},
      {"x:y{;a,b}", "x:y;b;a=1", Found{{"a", "1"}, {"b", ""}}},
      {"weather://{city}", "weather://São Paulo", Found{{"city", "São Paulo"}}},
      {"x:{a}2", "x:1%42", std::nullopt},
      {"x:{a}{b}", "x:1%42", Found{{"a", "1"}, {"b", "B"}}},
      {"x:{a}{b}", "x:ü%C3%BC", Found{{"a", "ü"}, {"b", "ü"}}},
      {"x:é{a}", "x:%C3%A91", Found{{"a", "1"}}},
  };
  for (const Match& each : cases) {
    SCOPED_TRACE(each.text + " against " + each.uri);
    const auto parsed = UriTemplate::parse(each.text);
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(parsed->match(each.uri), each.found);
  }
}

// R1
TEST(UriTemplate, WhatATemplateMade_ItMatches) {
  std::mt19937 random(6570);
  const auto parsed = UriTemplate::parse("x://{a}/{b}{/c}{?d,e}").value();
  std::uniform_int_distribution<int> letter(1, 127);
  std::uniform_int_distribution<int> length(1, 12);
  for (int round = 0; round < 2'000; ++round) {
    UriTemplate::Values values;
    Found expected;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      std::string value;
      for (int left = length(random); left > 0; --left) value += static_cast<char>(letter(random));
      values[name] = value;
      expected[name] = value;
    }
    const std::string uri = parsed.expand(values).value();
    ASSERT_EQ(parsed.match(uri), expected) << uri;
  }
}

TEST(UriTemplate, AmbiguousTemplates_AreMatchedWithoutBacktracking) {
  std::string text = "x:";
  for (int i = 0; i < 60; ++i) text += "{+v" + std::to_string(i) + "}a";
  const auto parsed = UriTemplate::parse(text + "!").value();
  EXPECT_EQ(parsed.match("x:" + std::string(8'000, 'a')), std::nullopt);
}

}  // namespace
}  // namespace patchbay
