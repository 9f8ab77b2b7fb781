//! The one integration binary: everything that needs real processes, real sockets and real files.

mod demo;
mod ingame;
mod real_model;
mod recovery;
mod serving;
mod support;
