#include "tools/run/shell_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sumac::tools {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kArguments{"./p", "a b"};

TEST(ShellScript, the_last_simple_command_is_found) {
  const struct {
    const char* name;
    const char* script;
    const char* words;  ///< Joined by |.
  } rows[] = {
      {"one command", "#!/bin/sh\n./p 1 2\n", "./p|1|2"},
      {"behind others", "cd /tmp\nexport A=1\nexec ./p\n", "./p"},
      {"the arguments of the script", "#!/bin/sh\nexport X=$PMI_RANK\nexec \"$@\"\n", "./p|a b"},
      {"arguments without quotes", "$@", "./p|a b"},
      {"arguments behind a wrapper", "numactl -N 0 \"$@\"", "numactl|-N|0|./p|a b"},
      {"a launcher with variables among its values", "mpirun -n $N ./p \"$F\"", "mpirun|-n|$N|./p|$F"},
      {"quotes and escapes", "./p 'a b' \"c d\" e\\ f", "./p|a b|c d|e f"},
      {"a comment behind it", "./p # then nothing\n# the end\n\n", "./p"},
      {"a # within a word", "./p a#b", "./p|a#b"},
      {"a continued line", "mpirun \\\n  -n 4 \\\n  ./p\n", "mpirun|-n|4|./p"},
      {"several commands on a line", "cd x && ./p 1; ", "./p|1"},
      {"redirections are not words", "./p <in >out 2>&1 3", "./p|3"},
      {"an exit at the end", "./p\nexit 0\n", "./p"},
      {"a setting before the command", "A=1 exec ./p", "./p"},
      {"a loop before the command", "for i in 1 2; do echo $i; done\n./p", "./p"},
      {"a ; within quotes", "sh -c 'a; b'", "sh|-c|a; b"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto command = last_command(row.script, kArguments);
    ASSERT_TRUE(command) << command.error().context;
    EXPECT_EQ(fmt::format("{}", fmt::join(command->words, "|")), row.words);
  }
  EXPECT_EQ(last_command("A=1 B=$C ./p", {})->settings, (std::vector<Setting>{{"A", "1", kNoWord}}));
}

TEST(ShellScript, what_needs_a_shell_is_said_to_be_unreadable) {
  const struct {
    const char* script;
    const char* says;
  } rows[] = {
      {"", "is empty"},
      {"# nothing\n", "is empty"},
      {"\"$@\"", "is empty"},
      {"if true; then ./p; fi", "is not simple"},
      {"if true; then\n  ./p\nfi\n", "is not simple"},
      {"for f in *; do\n./p $f\ndone", "is not simple"},
      {"./p | tee log", "is not simple"},
      {"./p &", "is not simple"},
      {"(cd x; ./p)", "is not simple"},
      {"$PROGRAM 1", "names its program by a variable"},
      {"`which p` 1", "names its program by a variable"},
      {"./p 'a", "is not simple"},
      {"cat <<END\n./p\nEND\n", "here-document"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.script);
    const auto command = last_command(row.script, {});
    ASSERT_FALSE(command);
    EXPECT_THAT(command.error().context, HasSubstr(row.says));
  }
  EXPECT_THAT(last_command("shift\nexec \"$@\"", kArguments).error().context, HasSubstr("the script has changed"));
}

}  // namespace
}  // namespace sumac::tools
