"""Makes the detector's ONNX file: data, network, training, export."""
