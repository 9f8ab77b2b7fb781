//! The one integration binary: everything that needs real sockets, real files and real processes.

mod real_model;
mod support;
