//! The web page, inside of the program: plain files that a browser takes as they are, so there is nothing to build.
//!
//! `page/` holds them: `index.html`, styles, ES modules, and the libraries in `vendor/` with their licences. In debug
//! builds they are read from disk, so that a change shows after a reload. `docs/dashboard.md` says what the page does.

use rust_embed::RustEmbed;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The page itself.
pub const START: &str = "index.html";

/// What the page may do: it runs its own modules, asks its own server, and nothing else. `style-src` needs no
/// `unsafe-inline`, because the modules set styles through the object model alone.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(RustEmbed)]
#[folder = "src/dashboard/page/"]
struct Files;

/// One file of the page.
pub struct PageFile {
    pub bytes: Cow<'static, [u8]>,
    pub content_type: &'static str,
    /// Its SHA-256, in hex.
    pub sha256: String,
}

/// The file at a path below `page/`; none if there is none. No path leads out of the folder.
pub fn file(path: &str) -> Option<PageFile> {
    let content_type = content_type(path)?;
    let file = Files::get(path)?;
    let sha256 =
        file.metadata
            .sha256_hash()
            .iter()
            .fold(String::with_capacity(64), |mut text, byte| {
                // Writing to a string cannot fail.
                let _ = write!(text, "{byte:02x}");
                text
            });
    Some(PageFile {
        bytes: file.data,
        content_type,
        sha256,
    })
}

/// What a browser is told a file is, by its ending: with `nosniff` a wrong type is refused.
fn content_type(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    match ending {
        "html" => Some("text/html; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "txt" | "md" => Some("text/plain; charset=utf-8"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn texts() -> BTreeMap<String, String> {
        Files::iter()
            .map(|path| {
                let bytes = Files::get(&path).unwrap().data;
                (
                    path.into_owned(),
                    String::from_utf8(bytes.into_owned()).unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn every_file_has_a_type_and_no_path_leads_out_of_the_folder() {
        for path in texts().keys() {
            assert!(file(path).is_some(), "{path}");
        }
        for path in [
            "../mod.rs",
            "js/../../mod.rs",
            "/etc/hosts.txt",
            "..%2fmod.rs",
            "",
            "js",
        ] {
            assert!(file(path).is_none(), "{path}");
        }
    }

    /// What a module or a style sheet takes in: `from"./x.js"`, `import "./x.js"`, `href="x.css"`.
    fn taken_in(text: &str) -> Vec<&str> {
        let marks = ["from\"", "from \"", "import \"", "href=\"", "src=\""];
        let after = marks
            .iter()
            .flat_map(|mark| text.split(mark).skip(1))
            .filter_map(|rest| rest.split('"').next());
        after
            .filter(|target| target.ends_with(".js") || target.ends_with(".css"))
            .collect()
    }

    #[test]
    fn everything_that_the_page_takes_in_is_there() {
        let texts = texts();
        let mut seen = 0;
        for (path, text) in &texts {
            if !(path.ends_with(".js") || path.ends_with(".html")) {
                continue;
            }
            for target in taken_in(text) {
                let place = match target.strip_prefix("/dashboard/") {
                    Some(place) => place.to_owned(),
                    None => {
                        assert!(target.starts_with('.'), "{path} takes in {target}");
                        let mut parts: Vec<&str> = path.split('/').collect();
                        parts.pop();
                        for part in target.split('/') {
                            match part {
                                "." => {}
                                ".." => drop(parts.pop()),
                                name => parts.push(name),
                            }
                        }
                        parts.join("/")
                    }
                };
                assert!(texts.contains_key(&place), "{path} takes in {target}");
                seen += 1;
            }
        }
        assert!(seen > 30, "only {seen} were found");
    }

    #[test]
    fn nothing_needs_what_the_policy_forbids() {
        for (path, text) in texts() {
            if path.ends_with(".html") {
                assert!(
                    !text.contains("<style") && !text.contains(" style="),
                    "{path}"
                );
                assert!(!text.contains("<script>"), "{path}: an inline script");
                assert!(!text.contains(" onclick="), "{path}");
            }
            if path.ends_with(".js") {
                assert!(
                    !text.contains("eval(") && !text.contains("new Function"),
                    "{path}"
                );
                assert!(!text.contains("import(\"http"), "{path}");
            }
        }
    }

    #[test]
    fn each_library_is_the_one_that_its_page_of_origins_names() {
        let origins = include_str!("page/vendor/README.md");
        for path in texts().keys().filter(|path| path.starts_with("vendor/")) {
            if path.ends_with(".js") || path.ends_with(".css") {
                let name = Path::new(path).file_name().unwrap().to_str().unwrap();
                assert!(origins.contains(&format!("`{name}`")), "{name}");
                let sha256 = file(path).unwrap().sha256;
                assert!(origins.contains(&sha256), "{name} is {sha256}");
            }
        }
    }

    #[test]
    fn modules_are_short_enough_to_be_read() {
        for (path, text) in texts() {
            if !path.starts_with("vendor/") {
                assert!(text.lines().count() <= 450, "{path}: split it by meaning");
            }
        }
    }
}
