// From the words of a command line to the arguments of a tool call, guided by the tool's
// input schema: key=value, key:=json, key=@file, one {…}, or - for JSON on stdin. Pure
// but for the two functions that read, which the caller supplies. It decides types, not
// validity: whether the arguments fit the schema is checked where calls are made.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/json.h>

namespace patchbay {

struct ArgumentSources {
  std::function<Result<std::string>(const std::string& path)> read_file;
  std::function<Result<std::string>()> read_stdin;
};

// An object. Errors are Errc::invalid_argument and name the argument and what was
// expected. `schema` may be null: then every key=value is a string.
//  - A value becomes what the schema's type says; a key that may be a string or one other
//    type becomes the other when it reads as that, else a string.
//  - a.b=value sets b inside a, unless the schema has a property called "a.b".
//  - A key may be repeated only if its type is array: its values are collected.
//  - A file's content stands for the value; key:=@file reads JSON from it. The file - is stdin, once.
//  - @result:… is no file: the host puts the value of a kept result there. In the text of a file it stays what it is.
Result<Json> call_arguments(std::span<const std::string> words, const Json& schema, const ArgumentSources& sources);

// An argument that no property of the schema declares.
struct UndeclaredArgument {
  std::string name;
  std::string meant;      // a property of nearly that name which is not given; empty: none
  bool foreseen = false;  // the schema says that others may come, or nothing about properties at all
  bool operator==(const UndeclaredArgument&) const = default;
};
// Those of the object itself, in its order; what lies deeper is not looked at.
std::vector<UndeclaredArgument> undeclared_arguments(const Json& arguments, const Json& schema);

}  // namespace patchbay
