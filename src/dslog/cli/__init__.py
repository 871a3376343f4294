"""The dslog command."""
