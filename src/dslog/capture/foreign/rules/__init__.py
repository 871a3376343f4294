"""What functions of other libraries read. A module is imported when its library is watched."""
