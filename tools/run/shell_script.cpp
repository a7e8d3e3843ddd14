#include "tools/run/shell_script.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace sumac::tools {
namespace {

/// A word of a command as the shell would see it. `variable`: it holds a $ or ` that only a shell can expand.
struct Word {
  std::string text;
  bool variable = false;
  bool all_arguments = false;  ///< "$@" or $*, alone.
};

constexpr std::string_view kAllArguments[] = {"\"$@\"", "$@", "$*", "\"$*\"", "${1+\"$@\"}", "\"${@}\"", "${@}"};

/// Words that shape a script: a last line that begins with one of them is the end of something else.
constexpr std::string_view kReserved[] = {"fi",   "done", "esac",     "}",    "{",   "(",      ")",
                                          "if",   "then", "else",     "elif", "for", "while",  "until",
                                          "case", "do",   "function", "!",    "[[",  "select", "coproc"};

/// Removes comments and joins continued lines; returns the commands of the script, a line each.
std::vector<std::string> lines_of(std::string_view script) {
  std::vector<std::string> lines(1);
  char quote = 0;
  for (std::size_t i = 0; i < script.size(); ++i) {
    const char c = script[i];
    if (c == '\\' && quote != '\'' && i + 1 < script.size()) {
      if (script[++i] != '\n') lines.back().append({c, script[i]});
      continue;
    }
    const bool word_begins = lines.back().empty() || lines.back().back() == ' ' || lines.back().back() == '\t';
    if (quote == 0 && c == '#' && word_begins) {
      while (i + 1 < script.size() && script[i + 1] != '\n') ++i;
      continue;
    }
    if (quote == 0 && c == '\n') {
      lines.emplace_back();
      continue;
    }
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    lines.back() += c;
  }
  return lines;
}

/// Splits at ; && || outside quotes; keeps the last part that has a word.
std::string last_part(const std::string& line) {
  std::string part;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      part.append({c, line[++i]});
      continue;
    }
    const bool two = i + 1 < line.size() && line[i + 1] == c && (c == '&' || c == '|');
    if (quote == 0 && (c == ';' || two)) {
      if (line.find_first_not_of(" \t\r;", i + (two ? 2 : 1)) != std::string::npos) part.clear();
      i += two ? 1 : 0;
      continue;
    }
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    part += c;
  }
  return part;
}

/// Takes the word that begins at `at`; nothing where a character needs a shell.
std::optional<Word> take_word(const std::string& line, std::size_t& at) {
  Word word;
  for (const auto all : kAllArguments) {
    const auto end = at + all.size();
    if (line.compare(at, all.size(), all) != 0 || (end < line.size() && line[end] != ' ' && line[end] != '\t'))
      continue;
    at = end;
    word.all_arguments = true;
    return word;
  }
  char quote = 0;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\r')) break;
    if (c == '\\' && quote != '\'' && at + 1 < line.size()) {
      word.text += line[++at];
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && std::string_view("|&(){}").find(c) != std::string_view::npos) {
      if (c != '{' && c != '}') return std::nullopt;
      word.text += c;
    } else {
      if (quote != '\'' && (c == '$' || c == '`')) word.variable = true;
      if (quote == 0 && std::string_view("*?[~").find(c) != std::string_view::npos) word.variable = true;
      word.text += c;
    }
  }
  if (quote != 0) return std::nullopt;
  return word;
}

/// Takes a redirection (`2>&1`, `> file`) away, with its file.
bool skip_redirection(const std::string& line, std::size_t& at) {
  std::size_t end = at;
  while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
  if (end < line.size() && line[end] == '&' && end + 1 < line.size() && line[end + 1] == '>') ++end;
  if (end >= line.size() || (line[end] != '>' && line[end] != '<')) return false;
  while (end < line.size() && (line[end] == '>' || line[end] == '<' || line[end] == '&')) ++end;
  end = std::min(line.find_first_not_of(" \t", end), line.size());
  std::size_t file = end;
  if (!take_word(line, file)) return false;
  at = file;
  return true;
}

bool is_name(std::string_view text) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

tl::unexpected<Error> unreadable(std::string_view why) { return fail(Errc::unsupported, "its last command {}", why); }

Result<ScriptCommand> command_of(const std::string& line, std::span<const std::string> arguments,
                                 bool arguments_stand) {
  ScriptCommand command;
  for (std::size_t at = 0;;) {
    at = line.find_first_not_of(" \t\r", at);
    if (at == std::string::npos) break;
    if (skip_redirection(line, at)) continue;
    auto word = take_word(line, at);
    if (!word) return unreadable("is not simple");
    if (word->all_arguments) {
      if (!arguments_stand) return unreadable("has arguments that the script has changed");
      command.words.insert(command.words.end(), arguments.begin(), arguments.end());
      continue;
    }
    const auto equals = word->text.find('=');
    if (command.words.empty() && equals != std::string::npos && is_name(word->text.substr(0, equals))) {
      if (!word->variable)
        command.settings.push_back({word->text.substr(0, equals), word->text.substr(equals + 1), kNoWord});
      continue;
    }
    if (command.words.empty() && (word->text == "exec" || word->text == "command")) continue;
    if (command.words.empty() && std::ranges::find(kReserved, word->text) != std::end(kReserved))
      return unreadable("is not simple");
    // A variable among the arguments of a program says nothing of the program; the program's own name must be plain.
    if (word->variable && command.words.empty()) return unreadable("names its program by a variable");
    command.words.push_back(std::move(word->text));
  }
  if (command.words.empty()) return unreadable("is empty");
  return command;
}

}  // namespace

Result<ScriptCommand> last_command(std::string_view script, std::span<const std::string> arguments) {
  const auto lines = lines_of(script);
  bool arguments_stand = true;
  for (const auto& line : lines) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    const auto text = std::string_view(line).substr(begin);
    if (text == "shift" || text.starts_with("shift ") || text.starts_with("shift;") || text.starts_with("set -- "))
      arguments_stand = false;
    if (text.find("<<") != std::string_view::npos) return unreadable("can't be told from a here-document");
  }
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const auto part = last_part(*line);
    const auto begin = part.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    const auto text = std::string_view(part).substr(begin);
    if (text.starts_with("exit") && (text.size() == 4 || text[4] == ' ')) continue;
    return command_of(part, arguments, arguments_stand);
  }
  return unreadable("is empty");
}

}  // namespace sumac::tools
