"""Trainers that record: their sides, and how small their traces are."""
import tempfile

from suite import native_trace
from suite.beside_python import NO_CUDNN, sizes
from suite.turns import TrainerSide

RECORDERS = ("cupti", "events")
# Fresh threads plan cuDNN's attention anew each step, 100 ms on the host that hide everything else.
DP_FLAGS = NO_CUDNN


def scratch(suite):
    """A folder that is gone at the end, with what was written into it."""
    return tempfile.TemporaryDirectory(prefix="scratch-", dir=suite.folder)


def share_of(suite, strategy, batch):
    """So that a GPU has the same work under every strategy; dp and ddp take the global batch."""
    return batch // suite.gpus if strategy == "single" else batch


def flags_of(suite, strategy):
    return [*DP_FLAGS, "--workers", str(suite.gpus)] if strategy == "dp" else []


class RecordingSide(TrainerSide):
    """A trainer that may record; its traces are written into `folder` when it finishes."""

    def __init__(self, suite, item, name, strategy, recorder, batch, folder, variables=None):
        stem = f"{item} {name}".replace(" ", "-")
        self.folder, self.stem = folder, stem
        command = [str(suite.trainer), "--strategy", strategy, *sizes(suite, batch),
                   *flags_of(suite, strategy), "--recorder", recorder, "--trace",
                   str(folder / f"{stem}-{{rank}}.json.gz")]
        super().__init__(name, command, suite.logs / stem,
                         suite.gpus if strategy == "ddp" else None, variables)

    def traces(self):
        """In the order of the ranks."""
        return sorted(self.folder.glob(f"{self.stem}-[0-9]*.json.gz"))


def mean_of(found, what, records):
    return sum(one[what] for one in found) / records if records else None


def size_of(paths):
    """Of the traces of one side."""
    found = [native_trace.measure(path) for path in paths]
    events = {}
    for of_rank in found:
        for category, count in of_rank["events"].items():
            events[category] = events.get(category, 0) + count
    records, steps = sum(events.values()), sum(one["steps"] for one in found)
    return {"records": records, "recorded_steps_of_all_ranks": steps, "by_category": events,
            "records_a_step": records / steps if steps else None,
            "gz_bytes_a_record": mean_of(found, "gz_bytes", records),
            "plain_bytes_a_record": mean_of(found, "plain_bytes", records),
            "dropped_records": sum(one["dropped_records"] for one in found),
            "recorders": sorted({str(one["recorder"]) for one in found}),
            "issues": [issue for one in found for issue in one["issues"]],
            "collector_overheads_ns": [one["collector_overheads_ns"] for one in found]}
