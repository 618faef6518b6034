"""regioncam: a subdivision of the square in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from peers_tools.answers import Answer, Problem


def load() -> None:
    import regioncam  # noqa: F401


def prepare(problem: Problem) -> Any:
    if problem.dim != 2 or problem.low != -problem.high:
        raise ValueError("only squares around the origin")
    layers = [
        (np.ascontiguousarray(weight.T, dtype=np.float32), bias.astype(np.float32))
        for weight, bias in problem.layers
    ]
    return float(problem.high), layers


def run(prepared: Any, job: dict[str, Any]) -> Any:
    import regioncam

    size, layers = prepared
    camera = regioncam.Regioncam(size=size)
    active = []
    for weight, bias in layers:
        camera.linear(weight, bias)
        camera.relu()
    for k in range(len(layers)):
        # Forms after a ReLU, by face of the finished subdivision: zero where it is inactive.
        forms = camera.face_activations(2 * k + 2)
        active.append((forms != 0).any(axis=1))
    patterns = np.concatenate(active, axis=1)
    if job["job"] == "patterns":
        return camera, patterns, None
    corners = camera.vertex_inputs
    rings = [face.vertex_ids for face in camera.faces]
    if job["job"] == "vertices":
        return camera, patterns, (corners, rings)
    ends = np.cumsum([len(ring) for ring in rings])
    at = np.concatenate(rings)
    starts = np.concatenate([[0], ends[:-1]])
    if job["job"] == "points":
        sums = np.add.reduceat(corners[at].astype(np.float64), starts, axis=0)
        return camera, patterns, sums / np.diff(ends, prepend=0)[:, None]
    after = np.roll(at, -1)
    after[ends - 1] = at[starts]  # the last edge of a ring ends where its first begins
    along = corners[after] - corners[at]
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
    return camera, patterns, (starts, normals, (normals * corners[at]).sum(axis=1))


def summarise(prepared: Any, result: Any) -> Answer:
    camera, patterns, _ = result
    return Answer(int(camera.num_faces), patterns=patterns)
