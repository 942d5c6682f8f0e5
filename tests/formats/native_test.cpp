#include "profiler/formats/native.h"

#include "profiler/formats/json_value.h"
#include "tests/formats/random_trace.h"
#include "tests/formats/small_trace.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

using test::phases_trace;
using test::Random;
using test::random_trace;
using test::small_trace;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Native, ReadsBackWhatItWrites) {
  const Trace trace = small_trace();
  EXPECT_EQ(read_native(write_native(trace), "test"), trace);
}

TEST(Native, PhasesTimedOnADeviceStandOnItsMainStream) {
  const Trace trace = phases_trace();
  const std::string text = write_native(trace);
  EXPECT_EQ(read_native(text, "test"), trace);
  EXPECT_TRUE(contains(text, R"("cat": "gpu_user_annotation","name": "forward","pid": 0,)"
                             R"("tid": 1000000000,"ts": 2001.500,"dur": 698.500,)"
                             R"("args": {"device": 0,"step": 10}})"));
  EXPECT_TRUE(contains(text, R"("pid": 0,"tid": 0,"args": {"name": "GPU 1"})"))
      << "people know the device by its number on the machine";
  EXPECT_TRUE(contains(text, R"("pid": 0,"tid": 1000000000,"args": {"name": "main stream"})"));
}

TEST(Native, ADeviceWithoutANumberIsWrittenAsBefore) {
  EXPECT_FALSE(contains(write_native(small_trace()), "\"number\""));
  EXPECT_TRUE(
      contains(write_native(phases_trace()), R"("memory_bytes": 80000000000,"number": 1})"));
}

TEST(Native, ACallIsOfTheDriverOrOfTheRuntime) {
  Trace trace = small_trace();
  trace.names[trace.calls[0].name.index] = "cuLaunchKernelEx";
  const std::string text = write_native(trace);
  EXPECT_EQ(read_native(text, "test"), trace);
  EXPECT_TRUE(contains(text, R"("cat": "cuda_driver","name": "cuLaunchKernelEx")"));
  EXPECT_TRUE(contains(text, R"("cat": "cuda_runtime","name": "cudaStreamSynchronize")"));
}

// On the annotation and on the kernel that carries it.
TEST(Native, SaysOfACollectiveWhatPyTorchSays) {
  const std::string text = write_native(small_trace());
  const std::string_view args =
      R"("Collective name": "allreduce","Process Group Name": "0","Seq": 41,"dtype": "Float",)"
      R"("In msg nelems": 85002,"Out msg nelems": 85002,"Group size": 2,)"
      R"("Process Group Ranks": "[0, 1]","Rank": 1)";
  const std::size_t on_kernel = text.find(args);
  ASSERT_NE(on_kernel, std::string::npos) << text;
  EXPECT_NE(text.find(args, on_kernel + 1), std::string::npos);
  Trace large = small_trace();
  large.info.world_size = 100;
  EXPECT_TRUE(contains(write_native(large), R"("Process Group Ranks": "[0, 1, ..., 99]")"));
  Trace dp = small_trace();
  dp.info.strategy = "dp";
  EXPECT_FALSE(contains(write_native(dp), "Group size"))
      << "DP has no process group, and readers know it by that";
}

TEST(Native, AnEmptyTraceSurvives) {
  EXPECT_EQ(read_native(write_native(Trace{}), "test"), Trace{});
}

TEST(Native, EveryTraceSurvives) {
  Random random(20'240'601);
  for (int round = 0; round < 4000; ++round) {
    const Trace trace = random_trace(random);
    const std::string text = write_native(trace);
    const Trace back = read_native(text, "test");
    ASSERT_EQ(back, trace) << "round " << round << "\n" << text;
    ASSERT_EQ(write_native(back), text) << "round " << round;
  }
}

TEST(Native, IsStrictJsonWithoutDuplicateKeys) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    EXPECT_NO_THROW(parse_json(write_native(random_trace(random)), "test"));
  }
}

TEST(Native, EachEventHasALineOfItsOwn) {
  const Trace trace = small_trace();
  const std::string text = write_native(trace);
  std::size_t events_count = 0;
  for (std::size_t i = text.find("\n{\"ph\": \"X\""); i != std::string::npos;
       i = text.find("\n{\"ph\": \"X\"", i + 1)) {
    ++events_count;
  }
  EXPECT_EQ(events_count, trace.steps.size() + trace.scopes.size() + trace.calls.size() +
                              trace.work.size() + trace.collectives.size());
  EXPECT_EQ(text.back(), '\n');
}

TEST(Native, HasWhatOtherToolsLookFor) {
  const std::string text = write_native(small_trace());
  EXPECT_TRUE(
      contains(text, R"("distributedInfo": {"backend": "nccl","rank": 1,"world_size": 2})"));
  EXPECT_TRUE(contains(text, R"("displayTimeUnit": "ms")"));
  EXPECT_TRUE(contains(text, R"("baseTimeNanoseconds": 1700000000000000000)"));
  EXPECT_TRUE(contains(text, R"("name": "ProfilerStep#10")"));
  EXPECT_TRUE(contains(text, R"("ts": 2000.100,"dur": 499.900)"));
  EXPECT_TRUE(contains(text, R"x("cat": "gpu_memset","name": "Memset (Device)")x"));
  EXPECT_TRUE(contains(text, R"x("cat": "gpu_memcpy","name": "Memcpy PtoP (Device -> Device)")x"));
  EXPECT_TRUE(contains(text, R"("cat": "kernel","name": "ncclDevKernel_AllReduce)"));
  // The first "rank" of the file is the one that HTA's regular expression finds.
  EXPECT_LT(text.find("\"rank\": 1"), text.find("\"ddpprof\""));
}

TEST(Native, OnlyDdpIsDistributed) {
  Trace trace = small_trace();
  trace.info.strategy = "dp";
  EXPECT_FALSE(contains(write_native(trace), "distributedInfo"));
  trace.info.strategy = "ddp";
  trace.info.devices_are_threads = true;
  EXPECT_TRUE(contains(write_native(trace), R"("backend": "gloo")"));
}

TEST(Native, CollectivesThatOverlapGetRowsOfTheirOwn) {
  Trace trace;
  trace.info.devices_are_threads = true;
  trace.names = {"g"};
  for (const Span span : {Span{0, 10}, Span{5, 15}, Span{10, 20}, Span{15, 18}}) {
    Collective& collective = trace.collectives.emplace_back();
    collective.span = span;
  }
  const std::string text = write_native(trace);
  const auto count = [&](std::string_view row) {
    const std::string part =
        "\"name\": \"gloo:all_reduce\",\"pid\": 1,\"tid\": " + std::string(row);
    int found = 0;
    for (std::size_t i = text.find(part); i != std::string::npos; i = text.find(part, i + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("1000000000"), 2);
  EXPECT_EQ(count("1000000001"), 2);
}

TEST(Native, ReadsItsOwnObjectAlsoBehindTheEvents) {
  // As a tool that sorts keys the other way might leave it.
  const std::string text = write_native(small_trace());
  const std::size_t head = text.find("\"ddpprof\"");
  const std::size_t events = text.find("\"traceEvents\"");
  const std::size_t end = text.rfind('}');
  const std::string moved = text.substr(0, head) + text.substr(events, end - events) + "," +
                            text.substr(head, text.rfind(',', events) - head) + "}";
  EXPECT_EQ(read_native(moved, "test"), small_trace());
}

TEST(Native, DoesNotMindSpaceAndTheOrderOfKeys) {
  std::string text = write_native(small_trace());
  const std::string_view part = R"("ts": 2000.100,"dur": 499.900,)";
  text.replace(text.find(part), part.size(), "\"dur\"\t:499.9 ,\n \"ts\" : 2.0001e3 ,");
  EXPECT_EQ(read_native(text, "test"), small_trace());
}

TEST(Native, PassesOverEventsAndKeysItDoesNotKnow) {
  std::string text = write_native(small_trace());
  text.insert(text.find("\n{\"ph\": \"X\""),
              R"({"ph":"i","s":"g","name":"mark","ts":1.5,"args":{"a":[{}]}},)"
              R"({"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":2,"pid":1,"tid":1},)");
  text.insert(text.find("\"schema\""), R"("later": {"x": [1, 2]},)");
  EXPECT_EQ(read_native(text, "test"), small_trace());
}

TEST(Native, BytesThatAreNoUtf8AreReplaced) {
  Trace trace;
  trace.info.host = "a\xff\xc3";
  EXPECT_EQ(read_native(write_native(trace), "test").info.host, "a\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace ddpprof
