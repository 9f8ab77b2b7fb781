//! x
pub mod lua_files;
pub mod sim;
