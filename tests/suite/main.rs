//! The integration tests: one binary, so one link step and shared helpers.

mod real_model;
mod support;
