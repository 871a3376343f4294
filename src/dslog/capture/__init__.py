"""Where relations come from: numpy, Spark, explanations, callables."""
