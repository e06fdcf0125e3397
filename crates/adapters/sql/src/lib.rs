//! lineup-sql
