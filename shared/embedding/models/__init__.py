"""Models that make vectors or rerank: built in, ONNX files, endpoints."""
