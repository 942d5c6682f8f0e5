"""The workloads as one writes them in Python: trainers/workloads/*.cpp, module by module.

Modules are made in the same order, so that the same seed gives the same parameters, and
`parameters()` has the order of the trainers' `--gradients` files.

Shapes: B samples, T tokens, W width, H heads.
"""
import dataclasses
from typing import Callable, Optional

import torch
import torch.nn.functional as F
from torch import nn

import samples

POSITIONS_COUNT = 512
SEGMENTS_COUNT = 2
HEAD_WIDTH = 64
FEED_FORWARD_FACTOR = 4
CLASSES_COUNT = 10

# trainers/workloads/table.cpp
DEFAULTS = {
    "bert-base": dict(batch=64, precision="bf16", lr=2e-5, weight_decay=0.01, dropout=0.1,
                      layers=12, width=768, seq=128, vocab=30522),
    "digits-mlp": dict(batch=64, precision="fp32", lr=1e-3, weight_decay=0.01, dropout=0.0,
                       layers=2, width=256, seq=None, vocab=None),
}


class Layer(nn.Module):
    """A post-norm layer of the encoder."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, FEED_FORWARD_FACTOR * width)
        self.down = nn.Linear(FEED_FORWARD_FACTOR * width, width)
        self.norm = nn.LayerNorm(width)

    def split(self, x):  # (B, T, W) -> (B, H, T, W/H)
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x):  # (B, T, W)
        p = self.dropout if self.training else 0.0
        attended = F.scaled_dot_product_attention(  # (B, H, T, W/H)
            self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x)),
            dropout_p=p)
        joined = attended.transpose(1, 2).reshape(x.shape)  # (B, T, W)
        y = self.attention_norm(x + F.dropout(self.output(joined), self.dropout, self.training))
        fed = self.down(F.gelu(self.up(y)))  # (B, T, W)
        return self.norm(y + F.dropout(fed, self.dropout, self.training))


class Bert(nn.Module):
    def __init__(self, layers: int, width: int, vocabulary: int, dropout: float):
        super().__init__()
        heads = max(1, width // HEAD_WIDTH)
        self.dropout = dropout
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(POSITIONS_COUNT, width)
        self.segments = nn.Embedding(SEGMENTS_COUNT, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads, dropout) for _ in range(layers))

    def forward(self, tokens, segments):  # (B, T) int64 each
        places = torch.arange(tokens.size(1), device=tokens.device)  # (T)
        x = self.norm(self.words(tokens) + self.positions(places) +
                      self.segments(segments))  # (B, T, W)
        x = F.dropout(x, self.dropout, self.training)
        for layer in self.layers:
            x = layer(x)
        return x.select(1, 0)  # (B, W), the first token's: [CLS]


class Mlp(nn.Module):
    def __init__(self, layers: int, width: int, dropout: float):
        super().__init__()
        self.dropout = dropout
        widths = [samples.PIXELS_COUNT] + [width] * layers
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.out = nn.Linear(widths[-1], CLASSES_COUNT)

    def forward(self, x):  # (B, 64)
        for layer in self.hidden:
            x = F.dropout(F.relu(layer(x)), self.dropout, self.training)  # (B, W)
        return self.out(x)  # (B, 10)


@dataclasses.dataclass
class Workload:
    samples_count: int
    make_model: Callable[[], nn.Module]
    # Sample numbers to (inputs, target), on the CPU.
    fetch: Callable[[list[int]], tuple[list[torch.Tensor], torch.Tensor]]
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def make_bert_base(layers: int, width: int, seq: int, vocab: int, dropout: float,
                   seed: int) -> Workload:
    def fetch(numbers):
        drawn = [samples.bert_sample(seed, number, seq, width, vocab) for number in numbers]
        tokens = torch.tensor([tokens for tokens, _ in drawn])  # (B, T)
        target = torch.tensor([signs for _, signs in drawn])  # (B, W)
        return [tokens, torch.zeros_like(tokens)], target

    # Autocast leaves bf16, in which squares and sums lose too much.
    return Workload(samples.BERT_SAMPLES_COUNT, lambda: Bert(layers, width, vocab, dropout), fetch,
                    lambda output, target: (output.float() - target).square().mean())


def make_digits_mlp(layers: int, width: int, seq: Optional[int], vocab: Optional[int],
                    dropout: float, seed: int) -> Workload:
    if seq is not None or vocab is not None:
        raise ValueError("digits-mlp has neither --seq nor --vocab")
    pixels, labels = samples.digits_for_training()
    images, classes = torch.tensor(pixels), torch.tensor(labels)  # (N, 64), (N)

    def fetch(numbers):
        index = torch.tensor(numbers)
        return [images[index]], classes[index]

    return Workload(len(labels), lambda: Mlp(layers, width, dropout), fetch, F.cross_entropy)


MAKERS = {"bert-base": make_bert_base, "digits-mlp": make_digits_mlp}


def make_workload(options) -> Workload:
    """`options` has workload, layers, width, seq, vocab, dropout and seed."""
    return MAKERS[options.workload](options.layers, options.width, options.seq, options.vocab,
                                    options.dropout, options.seed)
