"""Whatever asks a model: embeddings, ONNX, language models, vectors; their prices and what is spent."""
