//! One connection to the relay.
