"""Text to unit vectors: the local model, the memory of query vectors, and the check every embedder's answer passes."""

import os

# From its import on, onnxruntime would report to its maker and keep a device id in the user's folder. It looks once, so this stands before it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
