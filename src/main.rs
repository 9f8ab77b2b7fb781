//! The `ccfleet` program; everything is in the library.

/// Faster than the system's in what a call does most, and smaller with many computers (`docs/performance.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    ccfleet::cli::main()
}
