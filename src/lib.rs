//! x
pub mod cli {
    //! Subcommands.
    pub mod sim;
}
pub mod lua_files;
pub mod sim;
