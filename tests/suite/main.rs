//! The one integration binary: everything that needs real processes, real sockets and real files.

mod backups;
mod cache_share;
mod demo;
mod document_001;
mod family;
mod feed;
mod fleet_commands;
mod ingame;
mod observed;
mod outage;
mod overwritten;
mod people;
mod planned;
mod plans;
mod real_model;
mod recovery;
mod serving;
mod settings;
mod support;
mod torture;
mod wakes;
