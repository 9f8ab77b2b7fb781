//! The `ccfleet` program; everything is in the library.

fn main() -> std::process::ExitCode {
    ccfleet::cli::main()
}
