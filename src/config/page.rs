//! Makes `docs/configuration.md` from the reference, so that the page cannot drift.

use std::fmt::Write;

use super::reference;

const HEAD: &str = "\
# Configuration

This page is made from `config/default.toml` by a test; change that file, then run
`CCFLEET_BLESS=1 cargo test --lib configuration_page`.

Every setting has its default in `config/default.toml`, which is compiled in. Later sources win:

1. the defaults;
2. the file given with `--config FILE` or `CCFLEET_CONFIG` (`ccfleet init` writes one; an example: `config/example.local.toml`);
3. environment variables `CCFLEET__SECTION__KEY`, for example `CCFLEET__MODELS__PLANNER__MODEL=llama3`
   (lists as TOML: `CCFLEET__MODELS__PLANNER__STOP='[\"END\"]'`);
4. flags of the command.

A key that does not exist is an error that names its place and the key you may have meant. `ccfleet config check` looks at a file,
`ccfleet config show` says of every value where it comes from, `ccfleet config schema` is for editors, and `ccfleet doctor`
tries the result. More about models: [models.md](models.md).
";

/// The whole page.
pub(super) fn page() -> String {
    let mut page = HEAD.to_owned();
    for section in reference::sections() {
        let _ = write!(page, "\n## `[{}]`\n\n{}\n\n", section.name, section.comment);
        page.push_str("| key | default | meaning |\n| --- | --- | --- |\n");
        for key in &section.keys {
            let name = key.path.rsplit('.').next().unwrap_or(&key.path);
            let default = if key.has_default {
                format!("`{}`", key.value)
            } else {
                format!("none (example: `{}`)", key.value)
            };
            let meaning = key.comment.replace('|', "\\|");
            let _ = writeln!(page, "| `{name}` | {default} | {meaning} |");
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_page_is_what_default_toml_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
        if std::env::var_os("CCFLEET_BLESS").is_some() {
            std::fs::write(path, page()).expect("page is writable");
        }
        let written = std::fs::read_to_string(path).expect("page exists");
        assert!(
            written == page(),
            "docs/configuration.md is old; run CCFLEET_BLESS=1 cargo test --lib configuration_page"
        );
    }
}
