"""The samples of the workloads, drawn as the trainers draw them, with Python's own integers.

What stands here has its twin in trainers/common/sampler.cpp and trainers/workloads/*.cpp; the names
are the same.
"""
import gzip
import pathlib

MASK = (1 << 64) - 1
BERT_SAMPLES_COUNT = 1 << 16
DIGITS_TEST_COUNT = 360
PIXELS_COUNT = 64
BRIGHTEST = 16
DIGITS_FILE = (pathlib.Path(__file__).resolve().parents[2] / "trainers" / "workloads" / "data" /
               "digits.csv.gz")


def mix(x: int) -> int:
    """SplitMix64: one step of the state, and its output."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def permutation(count: int, seed: int, epoch: int) -> list[int]:
    """The order of an epoch: Fisher-Yates from the back."""
    order = list(range(count))
    state = mix(mix(seed) ^ epoch)
    for i in range(count, 1, -1):
        state = mix(state)
        j = state % i
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


class Sampler:
    """Which samples a device sees in a step of one micro-step."""

    def __init__(self, samples_count: int, batch: int, seed: int):
        if batch > samples_count:
            raise ValueError(f"--batch {batch}: the data set has only {samples_count} samples")
        self.samples_count, self.batch, self.seed = samples_count, batch, seed
        self.epoch, self.order = None, []

    def micro_batch(self, step: int, first_device: int, devices_count: int,
                    total: int) -> list[int]:
        """Of `devices_count` devices from `first_device` on; `total` devices share the batch."""
        if self.batch % total:
            raise ValueError(f"--batch {self.batch} does not divide by {total} devices")
        batches_per_epoch = self.samples_count // self.batch
        if step // batches_per_epoch != self.epoch:
            self.epoch = step // batches_per_epoch
            self.order = permutation(self.samples_count, self.seed, self.epoch)
        part = self.batch // total
        begin = step % batches_per_epoch * self.batch + first_device * part
        return self.order[begin:begin + devices_count * part]


def bert_sample(seed: int, sample: int, sequence_length: int, width: int,
                vocabulary: int) -> tuple[list[int], list[float]]:
    """Tokens, and the signs to regress on, of one sample."""
    state = mix(mix(seed) ^ sample)
    tokens = []
    for _ in range(sequence_length):
        state = mix(state)
        tokens.append(state % vocabulary)
    signs = []
    for w in range(width):
        if w % 64 == 0:
            state = mix(state)
        signs.append(1.0 if state >> (w % 64) & 1 else -1.0)
    return tokens, signs


def digits_for_training() -> tuple[list[list[float]], list[int]]:
    """Pixels from 0 to 1, and labels, of the rows that are not for the test."""
    rows = [[int(number) for number in line.split(",")]
            for line in gzip.decompress(DIGITS_FILE.read_bytes()).decode().splitlines()]
    order = sorted(range(len(rows)), key=mix)[DIGITS_TEST_COUNT:]
    return ([[pixel / BRIGHTEST for pixel in rows[row][:PIXELS_COUNT]] for row in order],
            [rows[row][PIXELS_COUNT] for row in order])
