"""What DSLog is compared with: storage formats, and ways to query what they store."""
