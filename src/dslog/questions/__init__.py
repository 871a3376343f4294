"""What people ask of a store when a number looks wrong."""
