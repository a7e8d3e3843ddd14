#include "lab/client.hpp"

#include <gtest/gtest.h>

namespace sumac::lab {
namespace {

TEST(LabClient, secrets_of_the_caller_stay_with_him) {
  const struct {
    const char* variable;
    bool secret;
  } rows[] = {
      {"GITHUB_TOKEN=x", true},
      {"DB_PASSWORD=x", true},
      {"AWS_SECRET_ACCESS_KEY=x", true},
      {"api_key=x", true},
      {"SSH_AUTH_SOCK=/tmp/agent", true},
      {"GITHUB_TOKEN", true},
      {"PATH=/usr/bin", false},
      {"PWD=/root", false},
      {"KEYBOARD=us", false},
      {"MONKEY=1", false},
      {"SSL_KEY=/etc/ssl/key.pem", false},
      {"SUMAC_TLS_KEY=x", false},
      {"OMPI_MCA_orte_secret_key=x", false},
      {"=", false},
  };
  for (const auto& row : rows) EXPECT_EQ(looks_secret(row.variable), row.secret) << row.variable;
}

}  // namespace
}  // namespace sumac::lab
