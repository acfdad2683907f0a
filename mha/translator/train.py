"""Training the translator, in PyTorch: `python -m mha.translator.train shared --out some.safetensors`.

One thread, one seed, and kernels that do the same sums on every x86-64 processor: with the same PyTorch, training
again gives the same bits. The model is made of PyTorch's own layers, so it is also what the NumPy translator is
compared with.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import nn

from mha.arrays import Array, Integers
from mha.embedding import sinusoidal_positions
from mha.translator.evaluate import accuracy, sample
from mha.translator.model import Translator
from mha.translator.numbers import (
    ENGLISH,
    GERMAN,
    LARGEST,
    LONGEST_ENGLISH,
    LONGEST_GERMAN,
    english_words,
    german_words,
)
from mha.translator.split import is_held_out
from mha.translator.weights import END, LAYOUT, PAD, SHIPPED, START, TrainedWeights, save_bytes

Module: TypeAlias = Any  # torch may be missing where types are checked
SOURCE_WORDS = (PAD, END, *ENGLISH)
TARGET_WORDS = (PAD, START, END, *GERMAN)
_SOURCE_ID = {word: i for i, word in enumerate(SOURCE_WORDS)}
_TARGET_ID = {word: i for i, word in enumerate(TARGET_WORDS)}


@dataclass(frozen=True)
class Plan:
    """All that decides the trained bits, but for PyTorch itself and its kernels.

    below: numbers from 0 to below - 1 are trained on, but for those held out; each number of digits equally often.
    """

    seed: int = 0
    d_model: int = 32
    d_ff: int = 64
    num_heads: int = 4
    steps: int = 1000
    batch: int = 128
    learning_rate: float = 5e-3
    below: int = LARGEST + 1


# How the shipped weights were made: of the seeds tried in turn, two that differ much in what their heads are worth.
PLANS = {"shared": Plan(seed=2, steps=2000, batch=256), "one_head": Plan(seed=5, d_model=64, steps=800)}

Report: TypeAlias = Callable[[int, float, Callable[[], TrainedWeights]], None]


def train(plan: Plan, report: Report | None = None) -> TrainedWeights:
    """The weights after `plan.steps` steps of Adam.

    report: called twenty times with the step, its loss, and a function that gives the weights at that step.
    """
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        torch.manual_seed(plan.seed)
        model = new_model(plan.d_model, plan.num_heads, plan.d_ff)
    optimizer = torch.optim.Adam(model.parameters(), lr=plan.learning_rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_share(step + 1, plan.steps))
    for step, (sources, targets) in enumerate(batches(plan), 1):
        scores = next_word_scores(model, sources, targets[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets[:, 1:].flatten(), ignore_index=_TARGET_ID[PAD])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if report is not None and step % max(1, plan.steps // 20) == 0:
            report(step, loss.item(), lambda: _trained(model, plan))
    return _trained(model, plan)


def learning_rate_share(step: int, steps: int) -> float:
    """The share of the full learning rate at a step from 1 on: rises over 100 steps, then stays, then falls to 0
    over the second half."""
    return min(1.0, step / 100, 2 * (steps - step) / steps)


def new_model(d_model: int, num_heads: int, d_ff: int) -> Module:
    """PyTorch's own layers under the names of the two sides; start values from its global generator."""
    common = {"dropout": 0.0, "batch_first": True, "norm_first": True}
    return nn.ModuleDict(
        {
            "source": nn.Embedding(len(SOURCE_WORDS), d_model),
            "target": nn.Embedding(len(TARGET_WORDS), d_model),
            "encoder": nn.TransformerEncoderLayer(d_model, num_heads, d_ff, **common),
            "encoder_norm": nn.LayerNorm(d_model),
            "decoder": nn.TransformerDecoderLayer(d_model, num_heads, d_ff, **common),
            "decoder_norm": nn.LayerNorm(d_model),
            "output": nn.Linear(d_model, len(TARGET_WORDS)),
        }
    )


def next_word_scores(model: Module, sources: Any, fed: Any) -> Any:
    """Scores of the next word at each place, (B, T, V), from ids: sources (B, S), fed (B, T) with the start mark."""
    padding = sources == _SOURCE_ID[PAD]
    x = model["encoder"](_embedded(model["source"], sources), src_key_padding_mask=padding)
    memory = model["encoder_norm"](x)
    T = fed.shape[1]
    later = torch.ones(T, T, dtype=torch.bool).triu(1)  # True means "blocked" there
    y = model["decoder"](_embedded(model["target"], fed), memory, tgt_mask=later, memory_key_padding_mask=padding)
    return model["output"](model["decoder_norm"](y))


def encoded(numbers: Integers) -> tuple[Any, Any]:
    """Ids of the English words with the end mark (B, S), and of start mark, German words, end mark (B, T), padded."""
    sources = np.full((len(numbers), LONGEST_ENGLISH + 1), _SOURCE_ID[PAD])
    targets = np.full((len(numbers), LONGEST_GERMAN + 2), _TARGET_ID[PAD])
    for b, number in enumerate(numbers.tolist()):
        source = (*english_words(number), END)
        target = (START, *german_words(number), END)
        sources[b, : len(source)] = [_SOURCE_ID[word] for word in source]
        targets[b, : len(target)] = [_TARGET_ID[word] for word in target]
    return torch.from_numpy(sources), torch.from_numpy(targets)


def arrays_of(model: Module) -> dict[str, Array]:
    """The model's parameters by the names of LAYOUT: PyTorch's matrices transposed, q, k and v taken apart."""
    return {name: np.array(_view(model, name).detach().numpy(), dtype=np.float64) for name in LAYOUT}


def model_of(weights: TrainedWeights) -> Module:
    """The same model in PyTorch, in float64: the reference for the NumPy one."""
    model = new_model(weights.d_model, weights.num_heads, len(weights.arrays["encoder.feed_forward.b_1"])).double()
    with torch.no_grad():
        for name, array in weights.arrays.items():
            _view(model, name).copy_(torch.from_numpy(array.copy()))
    return model


def _embedded(embedding: Module, ids: Any) -> Any:
    positions = torch.from_numpy(sinusoidal_positions(ids.shape[1], embedding.embedding_dim))
    return embedding(ids) + positions.to(embedding.weight.dtype)


def _view(model: Module, name: str) -> Any:
    """The part of PyTorch's parameters that LAYOUT calls `name`, in our orientation; writing to it writes to them."""
    place, _, part = name.rpartition(".")
    if part == "embedding":
        return model[place].weight
    if place == "output":
        return model["output"].weight.T if part == "W" else model["output"].bias
    owner, _, kind = place.rpartition(".")
    if kind == "attention":
        layer = model["encoder"] if owner == "encoder" else model["decoder"]
        return _attention_view(layer.multihead_attn if owner == "cross" else layer.self_attn, part)
    if kind == "feed_forward":
        linear = model[owner].linear1 if part.endswith("1") else model[owner].linear2
        return linear.weight.T if part.startswith("W") else linear.bias
    norm = _norm_of(model, owner, kind)
    return norm.weight if part == "gain" else norm.bias


def _attention_view(attention: Module, part: str) -> Any:
    if part == "W_o":
        return attention.out_proj.weight.T
    if part == "b_o":
        return attention.out_proj.bias
    which, D = "qkv".index(part[-1]), attention.embed_dim
    rows = slice(which * D, (which + 1) * D)
    return attention.in_proj_weight[rows].T if part.startswith("W") else attention.in_proj_bias[rows]


def _norm_of(model: Module, owner: str, kind: str) -> Module:
    """norm1 stands before self-attention; the last one before the feed-forward layer: norm2, in the decoder norm3."""
    if kind == "final_norm":
        return model[f"{owner}_norm"]
    if kind == "attention_norm":
        return {"encoder": model["encoder"].norm1, "decoder": model["decoder"].norm1, "cross": model["decoder"].norm2}[
            owner
        ]
    return model["encoder"].norm2 if owner == "encoder" else model["decoder"].norm3


def batches(plan: Plan) -> Iterator[tuple[Any, Any]]:
    """`plan.steps` batches of numbers that are not held out, each number of digits equally often."""
    rng = np.random.default_rng(plan.seed)
    longest = len(str(plan.below - 1))
    for _ in range(plan.steps):
        numbers: list[int] = []
        while len(numbers) < plan.batch:
            digits = int(rng.integers(1, longest + 1))
            number = int(rng.integers(10 ** (digits - 1) if digits > 1 else 0, min(10**digits, plan.below)))
            if not is_held_out(number):
                numbers.append(number)
        yield encoded(np.array(numbers))


def _trained(model: Module, plan: Plan) -> TrainedWeights:
    about = f"trained by mha.translator.train with PyTorch {torch.__version__}: {plan}"
    return TrainedWeights(
        arrays_of(model), plan.num_heads, SOURCE_WORDS, TARGET_WORDS, LONGEST_ENGLISH, LONGEST_GERMAN, about
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains one of PLANS, or one that differs from it, and writes the weights and the log beside them."""
    parser = argparse.ArgumentParser(prog="python -m mha.translator.train", description="Train the translator.")
    parser.add_argument("plan", choices=SHIPPED, help="the plan of shipped weights to follow")
    parser.add_argument("--out", type=Path, required=True, help="the file to write; its log goes beside it, as .log")
    for own in fields(Plan):
        kind = float if own.name == "learning_rate" else int
        parser.add_argument(f"--{own.name}", type=kind, help=f"{own.name} instead of the plan's")
    given = parser.parse_args(arguments)
    changed = {own.name: getattr(given, own.name) for own in fields(Plan) if getattr(given, own.name) is not None}
    plan, lines, began = replace(PLANS[given.plan], **changed), [], time.monotonic()

    def report(step: int, loss: float, weights: Callable[[], TrainedWeights]) -> None:
        share = accuracy(Translator(weights()), sample()).share
        lines.append(f"step {step:>5}   loss {loss:.6f}   right of {len(sample())} held-out numbers {share:.3f}\n")
        sys.stdout.write(lines[-1])
        sys.stdout.flush()

    weights = train(plan, report)
    given.out.write_bytes(save_bytes(weights))
    given.out.with_suffix(".log").write_text(f"{weights.about}\n{''.join(lines)}", encoding="utf-8", newline="\n")
    sys.stdout.write(f"{given.out}: {given.out.stat().st_size:,} bytes, {time.monotonic() - began:.0f} s\n")


# PyTorch and its matrix library choose their kernels by the processor, and each kind adds up in another order. These
# are read when PyTorch is loaded. What is written in their place by hand is kept.
KERNELS = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}


def run(arguments: Sequence[str]) -> int:
    """`main` in a process with those kernels; its exit code."""
    command = [sys.executable, "-c", "from mha.translator.train import main; main()", *arguments]
    return subprocess.run(command, env=KERNELS | os.environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
