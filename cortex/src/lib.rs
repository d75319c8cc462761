//! cortex
