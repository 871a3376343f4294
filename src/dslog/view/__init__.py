"""The page: server, graph and region models."""
