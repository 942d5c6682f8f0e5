#include "profiler/formats/probe.h"

#include "profiler/trace/error.h"
#include "tests/formats/random_trace.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

using test::Random;
using test::random_below;
using test::random_bool;
using test::random_integer;
using test::random_small_integer;
using test::random_text;

DeviceProbe random_device(Random& random) {
  DeviceProbe probe;
  probe.device = {random_text(random), random_integer(random)};
  if (random_bool(random)) probe.device.number = random_small_integer(random);
  if (random_bool(random)) probe.used_bytes = random_integer(random);
  if (random_bool(random)) probe.busy = static_cast<double>(random_below(random, 7919)) / 7919.0;
  return probe;
}

Probe random_probe(Random& random) {
  Probe probe;
  for (std::int64_t i = random_below(random, 9); i > 0; --i) {
    probe.devices.push_back(random_device(random));
  }
  probe.link = random_text(random);
  for (std::int64_t i = random_below(random, 6); i > 0; --i) {
    probe.versions[random_text(random)] = random_text(random);
  }
  return probe;
}

const Probe kTwo = {.devices = {{{"NVIDIA H200", 150'754'820'096, 0}, 4'194'304, 0.5},
                                {{"NVIDIA H200", 150'754'820'096, 1}, {}, {}}},
                    .link = "NVLink",
                    .versions = {{"driver", "580.95"}, {"torch", "2.11.0"}}};

TEST(Probe, EveryProbeSurvives) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    const Probe probe = random_probe(random);
    const std::string line = to_line(probe);
    ASSERT_EQ(parse_probe(line), probe) << line;
    ASSERT_EQ(line.find('\n'), line.size() - 1) << "one line, and only one";
  }
}

TEST(Probe, TheLineLooksAsDocumented) {
  EXPECT_EQ(to_line(kTwo),
            "{\"devices\": [{\"name\": \"NVIDIA H200\",\"memory_bytes\": 150754820096,"
            "\"number\": 0,\"used_bytes\": 4194304,\"busy\": 0.5},"
            "{\"name\": \"NVIDIA H200\",\"memory_bytes\": 150754820096,"
            "\"number\": 1,\"used_bytes\": null,\"busy\": null}],"
            "\"link\": \"NVLink\","
            "\"versions\": {\"driver\": \"580.95\",\"torch\": \"2.11.0\"}}\n");
}

TEST(Probe, WhatANewerTrainerAddsIsIgnored) {
  const Probe probe = parse_probe(
      R"({"nvlink_links": 18, "devices": [{"name": "L4", "memory_bytes": 24, "sm_count": 58}],)"
      R"( "link": "", "versions": {}})");
  ASSERT_EQ(probe.devices.size(), 1u);
  EXPECT_EQ(probe.devices[0].device.name, "L4");
  EXPECT_EQ(probe.devices[0].device.number, std::nullopt);
  EXPECT_EQ(probe.devices[0].busy, std::nullopt);
}

std::string problem_of(std::string_view line) {
  try {
    parse_probe(line);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.subject, "answer to --probe");
    return error.problem;
  }
}

TEST(Probe, WhatIsNoProbeIsAnErrorThatSaysWhy) {
  EXPECT_EQ(problem_of("{}"), "\"devices\" is missing");
  EXPECT_EQ(problem_of(R"({"devices": []})"), "\"link\" is missing");
  EXPECT_EQ(problem_of(R"({"devices": [], "link": ""})"), "\"versions\" is missing");
  EXPECT_EQ(problem_of(R"({"devices": 2, "link": "", "versions": {}})"),
            "\"devices\" is not an array");
  EXPECT_NE(
      problem_of(R"({"devices": [{}], "link": "", "versions": {}})").find("[0].name is missing"),
      std::string::npos);
  EXPECT_NE(problem_of(""), "");
  EXPECT_NE(problem_of("Segmentation fault"), "");
  EXPECT_NE(problem_of(to_line(kTwo) + to_line(kTwo)), "") << "one line, and only one";
}

TEST(Probe, NoLineThatIsCutOffPasses) {
  const std::string line = to_line(kTwo);
  for (std::size_t length = 0; length + 1 < line.size(); ++length) {
    EXPECT_THROW(parse_probe(line.substr(0, length)), Error) << line.substr(0, length);
  }
}

}  // namespace
}  // namespace ddpprof
