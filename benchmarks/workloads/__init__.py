"""What is measured: relations of single operations, and of workflows of many."""
