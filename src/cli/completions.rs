//! `ccfleet completions`

use super::{Cli, Exit, Failure};
use clap::CommandFactory;
use std::io::Write;

const EXAMPLES: &str = "\
Examples:
  source <(ccfleet completions bash)                        in ~/.bashrc
  ccfleet completions zsh > ~/.zfunc/_ccfleet               a folder of $fpath
  ccfleet completions fish > ~/.config/fish/completions/ccfleet.fish
  ccfleet completions powershell | Out-String | Invoke-Expression";

/// Print what a shell needs to complete commands and flags.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    shell: clap_complete::Shell,
}

/// Prints the script.
///
/// # Errors
/// Never; a reader who stopped listening is no failure.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ccfleet", &mut script);
    let _ = std::io::stdout().write_all(&script);
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap_complete::Shell;

    #[test]
    fn every_shell_gets_a_script_that_knows_the_commands() {
        for shell in [
            Shell::Bash,
            Shell::Zsh,
            Shell::Fish,
            Shell::PowerShell,
            Shell::Elvish,
        ] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "ccfleet", &mut script);
            let script = String::from_utf8(script).unwrap();
            for word in ["watch", "questions", "token-file"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}
