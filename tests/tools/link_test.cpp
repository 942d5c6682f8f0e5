#include "tools/launcher/link.h"

#include "profiler/trace/error.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

using Variables = std::map<std::string, std::string>;

std::string refusal(const std::string& link, const Variables& nccl_variables) {
  try {
    link_environment(link, nccl_variables);
  } catch (const UsageError& error) {
    return error.subject + ": " + error.problem + " | " + error.hint;
  }
  return "accepted";
}

TEST(Link, IsSetByNcclsVariables) {
  EXPECT_EQ(link_environment("p2p", {}), Variables{});
  EXPECT_EQ(link_environment("shm", {}), (Variables{{"NCCL_P2P_DISABLE", "1"}}));
  EXPECT_EQ(
      link_environment("socket", {}),
      (Variables{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}, {"NCCL_NET", "Socket"}}));
}

TEST(Link, ThatTheUsersEnvironmentForbidsIsRefused) {
  EXPECT_EQ(refusal("p2p", {{"NCCL_P2P_DISABLE", "1"}}),
            "--link p2p: NCCL_P2P_DISABLE=1 of the environment forbids it | unset "
            "NCCL_P2P_DISABLE, or take another link");
  EXPECT_NE(refusal("p2p", {{"NCCL_P2P_LEVEL", "LOC"}}).find("NCCL_P2P_LEVEL=LOC"),
            std::string::npos);
  EXPECT_NE(refusal("shm", {{"NCCL_SHM_DISABLE", "1"}}).find("NCCL_SHM_DISABLE=1"),
            std::string::npos);
  EXPECT_EQ(refusal("p2p", {{"NCCL_P2P_DISABLE", "0"}, {"NCCL_P2P_LEVEL", "NVL"}}), "accepted");
  EXPECT_EQ(refusal("p2p", {{"NCCL_SHM_DISABLE", "1"}}), "accepted");
  EXPECT_EQ(refusal("shm", {{"NCCL_P2P_DISABLE", "1"}}), "accepted");
  EXPECT_EQ(refusal("socket", {{"NCCL_SHM_DISABLE", "1"}, {"NCCL_NET", "IB"}}), "accepted");
}

TEST(Link, HasKnownNames) {
  EXPECT_EQ(refusal("nvlink", {}), "--link nvlink: unknown link | known are p2p, shm, socket");
  EXPECT_THROW(check_link(""), UsageError);
  EXPECT_NO_THROW(check_link("socket"));
}

}  // namespace
}  // namespace ddpprof
