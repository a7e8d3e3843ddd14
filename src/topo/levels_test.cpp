#include "topo/levels.hpp"

#include <gtest/gtest.h>

namespace sumac::topo {
namespace {

constexpr Level kSocket{Sbgp::basesmsocket, Bcol::basesmuma};
constexpr Level kUma{Sbgp::basesmuma, Bcol::basesmuma};
constexpr Level kP2p{Sbgp::p2p, Bcol::ucx_p2p};

TEST(Levels, what_people_write) {
  const struct {
    const char* name;
    const char* sbgp;
    const char* bcol;
    std::vector<Level> levels;
  } rows[] = {
      {"unset: three levels", "", "", {kSocket, kUma, kP2p}},
      {"the default spelt out", "basesmsocket,basesmuma,p2p", "basesmuma,basesmuma,ucx_p2p", {kSocket, kUma, kP2p}},
      {"the aliases", "basesmssocket,basesmuma,p2p", "basesmuma,basesmuma,mlx_p2p", {kSocket, kUma, kP2p}},
      {"two levels", "basesmuma,p2p", "basesmuma,mlx_p2p", {kUma, kP2p}},
      {"socket leaders in the network: multi-channel", "basesmssocket,p2p", "basesmuma,mlx_p2p", {kSocket, kP2p}},
      {"one level", "p2p", "ucx_p2p", {kP2p}},
      {"one host only", "basesmsocket,basesmuma", "basesmuma,basesmuma", {kSocket, kUma}},
      {"blanks, as in people's scripts", " basesmuma , p2p ", "basesmuma ,ucx_p2p", {kUma, kP2p}},
      {"primitives follow the levels if they are unset", "basesmuma,p2p", "", {kUma, kP2p}},
      {"cross-channel queues: the network's primitive stands in", "basesmuma,p2p", "basesmuma, cc", {kUma, kP2p}},
      {"the adapter's groups: those of the network stand in", "basesmuma,ibnet", "basesmuma,ibnet", {kUma, kP2p}},
      {"a text of blanks is unset", "  ", "\t", {kSocket, kUma, kP2p}},
  };
  for (const auto& row : rows) {
    const auto levels = parse_levels(row.sbgp, row.bcol);
    ASSERT_TRUE(levels) << row.name << ": " << levels.error().context;
    EXPECT_EQ(*levels, row.levels) << row.name;
  }
}

TEST(Levels, mistakes_name_the_variable_the_word_and_what_is_legal) {
  const struct {
    const char* sbgp;
    const char* bcol;
    const char* text;
  } rows[] = {
      {"basesmsocket,basesmuma,p2p", "basesmuma,ucx_p2p",
       "HCOLL_BCOL=basesmuma,ucx_p2p: 2 words, but HCOLL_SBGP=basesmsocket,basesmuma,p2p has 3: expected one primitive "
       "for "
       "each level"},
      {"p2p", "basesmuma,ucx_p2p",
       "HCOLL_BCOL=basesmuma,ucx_p2p: 2 words, but HCOLL_SBGP=p2p has 1: expected one primitive "
       "for each level"},
      {"", "ucx_p2p",
       "HCOLL_BCOL=ucx_p2p: 1 word, but HCOLL_SBGP=basesmsocket,basesmuma,p2p has 3: expected one primitive "
       "for each level"},
      {"basesmuna,p2p", "",
       "HCOLL_SBGP=basesmuna,p2p: unknown word \"basesmuna\": expected basesmsocket (or basesmssocket), "
       "basesmuma, p2p, each at most once, in this order"},
      {"ibnet,p2p", "",
       "HCOLL_SBGP=ibnet,p2p: \"p2p\" is there twice: expected basesmsocket (or basesmssocket), basesmuma, "
       "p2p, each at most once, in this order"},
      {"basesmuma,,p2p", "",
       "HCOLL_SBGP=basesmuma,,p2p: an empty word: expected basesmsocket (or basesmssocket), basesmuma, "
       "p2p, each at most once, in this order"},
      {"p2p,basesmuma", "",
       "HCOLL_SBGP=p2p,basesmuma: \"basesmuma\" must not follow \"p2p\": expected basesmsocket (or "
       "basesmssocket), basesmuma, p2p, each at most once, in this order"},
      {"p2p,p2p", "",
       "HCOLL_SBGP=p2p,p2p: \"p2p\" is there twice: expected basesmsocket (or basesmssocket), basesmuma, "
       "p2p, each at most once, in this order"},
      {"basesmuma,p2p", "basesmuma,iboffload",
       "HCOLL_BCOL=basesmuma,iboffload: unknown word \"iboffload\": expected basesmuma, ucx_p2p (or mlx_p2p)"},
      {"basesmuma,p2p", "cc,cc",
       "HCOLL_BCOL=cc,cc: \"ucx_p2p\" cannot serve level \"basesmuma\" of HCOLL_SBGP: expected \"basesmuma\" there"},
      {"basesmuma,p2p", "ucx_p2p,basesmuma",
       "HCOLL_BCOL=ucx_p2p,basesmuma: \"ucx_p2p\" cannot serve level \"basesmuma\" of "
       "HCOLL_SBGP: expected \"basesmuma\" there"},
      {"p2p", "basesmuma",
       "HCOLL_BCOL=basesmuma: \"basesmuma\" cannot serve level \"p2p\" of HCOLL_SBGP: expected "
       "\"ucx_p2p\" there"},
      {"P2P", "",
       "HCOLL_SBGP=P2P: unknown word \"P2P\": expected basesmsocket (or basesmssocket), basesmuma, p2p, each at "
       "most once, in this order"},
  };
  for (const auto& row : rows) {
    const auto levels = parse_levels(row.sbgp, row.bcol);
    ASSERT_FALSE(levels) << row.sbgp << " " << row.bcol;
    EXPECT_EQ(levels.error().context, row.text);
    EXPECT_EQ(levels.error().code, Errc::invalid);
  }
}

TEST(Levels, a_word_that_another_one_stands_in_for_is_told) {
  const struct {
    const char* sbgp;
    const char* bcol;
    const char* text;
  } rows[] = {
      {"", "", ""},
      {"basesmssocket,basesmuma,p2p", "basesmuma,basesmuma,mlx_p2p", ""},
      {"basesmuma,p2p", " basesmuma, cc",
       "HCOLL_BCOL=basesmuma, cc: \"ucx_p2p\" stands in for \"cc\": Sumac does not use an adapter's queues for "
       "collectives"},
      {"ibnet", "ibnet",
       "HCOLL_SBGP=ibnet: \"p2p\" stands in for \"ibnet\": Sumac does not use an adapter's queues for collectives; "
       "HCOLL_BCOL=ibnet: \"ucx_p2p\" stands in for \"ibnet\": Sumac does not use an adapter's queues for collectives"},
  };
  for (const auto& row : rows) EXPECT_EQ(remark_on_levels(row.sbgp, row.bcol), row.text) << row.sbgp << " " << row.bcol;
}

TEST(Levels, the_defaults_are_what_they_say) {
  EXPECT_EQ(*parse_levels(kSbgpDefault, kBcolDefault), *parse_levels("", ""));
  for (const auto sbgp : {Sbgp::basesmsocket, Sbgp::basesmuma, Sbgp::p2p}) EXPECT_NE(to_string(sbgp), "?");
  for (const auto bcol : {Bcol::basesmuma, Bcol::ucx_p2p}) EXPECT_NE(to_string(bcol), "?");
}

}  // namespace
}  // namespace sumac::topo
