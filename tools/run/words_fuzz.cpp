// Feeds any text as the words of a launcher, of a wrapper and as a shell script: what is found are parts of the text, at the
// places that are announced.
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "tools/run/shell_script.hpp"
#include "tools/run/wrapper_words.hpp"

namespace {

using namespace sumac;

/// Words end at a newline; the first byte of the input chooses the family.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c == '\n')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

void check_setting(const std::vector<std::string>& words, const tools::Setting& setting) {
  if (setting.word == tools::kNoWord) return;
  fuzz::must(setting.word < words.size(), "a setting stands in a word");
  fuzz::must(!setting.value || words[setting.word].ends_with(*setting.value), "the word ends with the value");
}

}  // namespace

SUMAC_FUZZ(words) {
  fuzz::Input input(data, size);
  const auto family = static_cast<tools::LauncherFamily>(input.byte() % 4);
  const auto text = input.rest();
  const auto words = words_of(text);
  const auto read = tools::read_launcher_words(family, words, 0);
  for (const auto& program : read.programs) {
    fuzz::must(!program.words.empty() && program.first < words.size(), "a program has a word");
    fuzz::must(program.words[0] == words[program.first], "its first word is where it is announced");
  }
  for (const auto& setting : read.settings) check_setting(words, setting);
  if (const auto wrapped = tools::unwrap(words)) {
    fuzz::must(wrapped->first > 0 && wrapped->first < words.size(), "a wrapper has a command");
    for (const auto& setting : wrapped->settings) check_setting(words, setting);
  }
  const auto command = tools::last_command(text, words);
  fuzz::must(command || !command.error().context.empty(), "a refusal has a reason");
  fuzz::must(!command || !command->words.empty(), "a command has a word");
  return 0;
}
