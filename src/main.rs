//! The `ccfleet` program; everything is in the library.

/// Faster than the system's in what a call does most, and smaller with many computers (`docs/performance.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // A kernel that always gives huge pages rounds every touched piece of memory up to 2 MiB: an idle server would hold 18 MiB
    // instead of 4. A kernel that cannot be told so serves as well.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    ccfleet::cli::main()
}
