//! The one integration binary: everything that needs real processes, real sockets and real files.

mod demo;
mod recovery;
mod serving;
mod support;
