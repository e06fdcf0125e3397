//! What the world may ask of the Runtime. The Runtime's handle implements these; adapters hold them.
