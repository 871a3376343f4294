"""Libraries beyond numpy: their functions and models on tracked values."""
