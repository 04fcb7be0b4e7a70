// Exists only to compile the precompiled header that every target reuses.
