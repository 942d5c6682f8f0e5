#include "reports/notes.h"

#include "reports/terminal.h"
#include "tests/reports/sample_diagnosis.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

using Notes = std::vector<std::string>;

const Issue kDenied{"recorded-without-cupti", "phases alone were timed: another tool has CUPTI", 2};

// Phases of all strategies timed by events, since CUPTI was denied.
Diagnosis denied() {
  Diagnosis diagnosis = test::phases_diagnosis();
  for (StrategyDiagnosis& strategy : diagnosis.strategies) {
    strategy.recorder = kEventRecorder;
    strategy.issues = {kDenied};
  }
  return diagnosis;
}

TEST(RecordingNotes, AreNoneWhereNothingIsWrong) {
  Diagnosis diagnosis = test::sample_diagnosis();
  EXPECT_EQ(recording_notes(diagnosis), Notes{});
  for (StrategyDiagnosis& strategy : diagnosis.strategies) strategy.recorder = kHostRecorder;
  EXPECT_EQ(recording_notes(diagnosis), Notes{}) << "devices are threads";
  for (StrategyDiagnosis& strategy : diagnosis.strategies) {
    strategy.recorder = kCuptiRecorder;
    for (RankFigures& rank : strategy.per_rank) rank.device_name = "cuda:0";
  }
  EXPECT_EQ(recording_notes(diagnosis), Notes{});
}

TEST(RecordingNotes, SayOnceWhatSawTheDevicesAndWhy) {
  EXPECT_EQ(recording_notes(denied()),
            (Notes{"Phases alone were timed (CUDA events): another tool has CUPTI. What is hidden "
                   "is not known."}));
}

TEST(RecordingNotes, SayItWithoutAReasonWhereTheUserWantedIt) {
  Diagnosis diagnosis = denied();
  for (StrategyDiagnosis& strategy : diagnosis.strategies) strategy.issues.clear();
  EXPECT_EQ(recording_notes(diagnosis),
            (Notes{"Phases alone were timed (CUDA events). What is hidden is not known."}));
}

TEST(RecordingNotes, NameTheStrategiesWhereTheyDiffer) {
  Diagnosis diagnosis = denied();
  diagnosis.strategies[1].issues = {
      {"recorded-without-cupti", "phases alone were timed: CUPTI is too old", 1}};
  EXPECT_EQ(recording_notes(diagnosis),
            (Notes{"single, ddp: phases alone were timed (CUDA events): another tool has CUPTI. "
                   "What is hidden is not known.",
                   "dp: phases alone were timed (CUDA events): CUPTI is too old. What is hidden is "
                   "not known."}));
  diagnosis.strategies[1] = test::sample_diagnosis().strategies[1];
  EXPECT_EQ(recording_notes(diagnosis),
            (Notes{"single, ddp: phases alone were timed (CUDA events): another tool has CUPTI. "
                   "What is hidden is not known."}));
}

TEST(RecordingNotes, TellWhenSomeRanksAloneWereTimedByEvents) {
  Diagnosis diagnosis = test::sample_diagnosis();
  StrategyDiagnosis& ddp = diagnosis.strategies[2];
  ddp.per_rank[1].figures = test::phases_diagnosis().strategies[2].shown;
  EXPECT_EQ(recording_notes(diagnosis),
            (Notes{"ddp: phases alone were timed on some devices (CUDA events). What is hidden is "
                   "not known."}));
}

TEST(RecordingNotes, TellWhenTheHostAloneTimedGpus) {
  Diagnosis diagnosis = test::sample_diagnosis();
  for (StrategyDiagnosis& strategy : diagnosis.strategies) {
    strategy.recorder = kHostRecorder;
    for (RankFigures& rank : strategy.per_rank) rank.device_name = "cuda:0";
  }
  EXPECT_EQ(recording_notes(diagnosis), (Notes{"The host's clock alone timed the devices."}));
}

TEST(RecordingNotes, CountWhatWasDroppedAndTheStepsThatAreLeftOut) {
  Diagnosis diagnosis = test::sample_diagnosis();
  diagnosis.strategies[0].dropped_records = 1;
  diagnosis.strategies[1].dropped_records = 1234;
  const Issue lossy{"step-lossy", "steps lost records and are left out", 3};
  diagnosis.strategies[1].issues = {lossy};
  diagnosis.strategies[2].issues = {{"clock-jump", "the clock jumped", 1},
                                    {lossy.code, lossy.text, 1}};
  EXPECT_EQ(recording_notes(diagnosis),
            (Notes{"single: 1 record was dropped; no step is known to have lost any",
                   "dp: 1,234 records were dropped; 3 steps lost records and are left out",
                   "ddp: 1 step lost records and is left out", "ddp: the clock jumped"}));
}

TEST(RecordingNotes, EndTheReport) {
  Diagnosis diagnosis = denied();
  diagnosis.strategies[2].dropped_records = 2;
  const std::string text = terminal_report(diagnosis);
  const std::string end =
      "Phases alone were timed (CUDA events): another tool has CUPTI. What is hidden is\n"
      "not known.\n"
      "ddp: 2 records were dropped; no step is known to have lost any\n";
  EXPECT_TRUE(text.ends_with(end)) << text;
}

}  // namespace
}  // namespace ddpprof
