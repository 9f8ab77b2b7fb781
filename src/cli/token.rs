//! `ccfleet token`: tokens of people and computers. With a server that runs it goes through its API, without one straight to
//! the data folder.

use super::data::DataArg;
use super::server::{Server, ServerArg, TOKEN_VARIABLE};
use super::{Exit, Failure};
use crate::actors::tokens::{TokenError, mint, revoked};
use crate::app::{DataFolder, FolderError};
use crate::clock::now_ms;
use crate::domain::access::Role;
use crate::domain::credential::{Bearer, NewToken, TokenRecord};
use crate::http::{time, token_body};
use crate::store::sqlite::{self, FILE_NAME};
use crate::store::{OpenStore, StoreError, SystemChange, TokenChange, Write};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ccfleet token create ada --role admin            a person who may do everything
  ccfleet token create bot --role operator --owner ada --tools 'fs_*,status' --expires 90d
  ccfleet token create mine --computer 'mine-*' --owner ada
      computers whose names begin with mine-: what they do is ada's
  ccfleet token list
  ccfleet token revoke tok_1a2b3c4d5e6f

The text of a token is printed once and kept nowhere. People send it as `Authorization: Bearer TOKEN`, the commands take it
from the variable CCFLEET_TOKEN, a computer from its setting ccfleet.token. Roles: viewer sees what is its owner's; operator
also gives tasks, calls tools and answers; admin sees and does everything, for all owners.

As soon as a person's token exists, everybody has to show one. With a server that runs this asks it (--server), with the
operator's key of the data folder or with CCFLEET_TOKEN; without one it works on the data folder.

Exit codes: 0 done, 1 it went wrong, 2 wrong use, 4 the data folder or its journal cannot be used.";

/// Make, list and revoke tokens of people and computers.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,

    #[command(flatten)]
    data: DataArg,

    #[command(flatten)]
    server: ServerArg,

    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Make a token; its text is printed once
    Create(Create),
    /// All tokens, revoked ones too
    List,
    /// The token counts no more; sessions that began with it, and computers that came in with it, are sent away
    Revoke {
        /// As `list` shows it
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, clap::Args)]
struct Create {
    /// What people call it
    #[arg(value_name = "NAME")]
    name: String,

    /// For a person who may do that
    #[arg(long, value_parser = role, required_unless_present = "computer", value_name = "viewer|operator|admin")]
    role: Option<Role>,

    /// For computers of this name; `*` stands for any characters
    #[arg(long, value_name = "CLIENT_ID", conflicts_with = "role")]
    computer: Option<String>,

    /// Whose it makes things, and whose the computers are [default: NAME]
    #[arg(long, value_name = "OWNER")]
    owner: Option<String>,

    /// Only these tools, as names or globs
    #[arg(long, value_delimiter = ',', value_name = "TOOLS")]
    tools: Option<Vec<String>>,

    /// Only so long, for example 90d or 12h
    #[arg(long, value_parser = humantime::parse_duration, value_name = "TIME")]
    expires: Option<std::time::Duration>,
}

fn role(text: &str) -> Result<Role, String> {
    let known = Role::ALL.into_iter().find(|role| role.as_str() == text);
    known.ok_or_else(|| "one of viewer, operator, admin".to_owned())
}

impl Create {
    fn wanted(self, now_ms: i64) -> NewToken {
        let bearer = match (self.computer, self.role) {
            (Some(client_id), _) => Bearer::Computer { client_id },
            (None, role) => Bearer::Person {
                // The command line asks for one of the two.
                role: role.unwrap_or(Role::Viewer),
            },
        };
        let ms = |time: std::time::Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        NewToken {
            name: self.name,
            owner: self.owner,
            bearer,
            tools: self.tools,
            expires_at_ms: self.expires.map(|time| now_ms.saturating_add(ms(time))),
        }
    }
}

/// Does what is asked.
///
/// # Errors
/// No server and no data folder, or what is asked for cannot be.
pub async fn run(args: Args) -> Result<Exit, Failure> {
    let folder = args.data.folder()?;
    let makes = matches!(args.what, What::Create(_));
    let place = Place::find(&folder, &args.server, makes)?;
    match args.what {
        What::Create(create) => {
            let new = create.wanted(now_ms());
            let made = place.create(new).await?;
            if args.json {
                say!("{made}");
            } else {
                told(&made);
            }
        }
        What::List => {
            let tokens = place.list().await?;
            if args.json {
                say!("{}", json!({"items": tokens}));
            } else {
                table(&tokens).iter().for_each(|line| say!("{line}"));
            }
        }
        What::Revoke { id } => {
            let revoked = place.revoke(&id).await?;
            if args.json {
                say!("{revoked}");
            } else {
                say!("{id} ({}) counts no more", text(&revoked, "name"));
            }
        }
    }
    Ok(Exit::Done)
}

/// Where the tokens are.
enum Place {
    Server(Server),
    /// Held, so that no server starts meanwhile.
    Folder(DataFolder, OpenStore),
}

impl Place {
    fn find(folder: &Path, server: &ServerArg, makes: bool) -> Result<Self, Failure> {
        if server.names_a_token() {
            return Ok(Place::Server(Server::new(server)?));
        }
        if !makes && !folder.join(FILE_NAME).is_file() {
            let missing = StoreError::Missing {
                path: PathBuf::from(folder).join(FILE_NAME),
            };
            return Err(Failure::new(Exit::Data, missing));
        }
        match DataFolder::lock(folder) {
            Ok(lock) => {
                let store = sqlite::open(lock.path());
                let store = store.map_err(|error| Failure::new(Exit::Data, error))?;
                Ok(Place::Folder(lock, store))
            }
            Err(FolderError::InUse { .. }) => {
                let key = DataFolder::key_beside(folder).ok_or_else(|| {
                    let words = format!(
                        "a server has the data folder {}, and its operator.key cannot be read; show a token in {TOKEN_VARIABLE}",
                        folder.display()
                    );
                    Failure::new(Exit::Data, words)
                })?;
                Ok(Place::Server(Server::new(server)?.showing(key)))
            }
            Err(error) => Err(Failure::new(Exit::Data, error)),
        }
    }

    /// The token with its text as `secret`.
    async fn create(self, new: NewToken) -> Result<Value, Failure> {
        match self {
            Place::Server(server) => {
                let mut body = json!({"name": new.name, "owner": new.owner, "tools": new.tools,
                                      "expires_at": new.expires_at_ms.map(time)});
                match new.bearer {
                    Bearer::Person { role } => body["role"] = json!(role),
                    Bearer::Computer { client_id } => body["client_id"] = json!(client_id),
                }
                server.post("/tokens", &body).await
            }
            Place::Folder(_lock, mut store) => {
                let now = now_ms();
                let (record, secret) = mint(new, now).map_err(refused)?;
                keep(
                    &mut store,
                    vec![TokenChange::Made(Box::new(record.clone()))],
                )?;
                let mut made = token_body(&record, now);
                made["secret"] = json!(secret.reveal());
                Ok(made)
            }
        }
    }

    async fn list(self) -> Result<Vec<Value>, Failure> {
        match self {
            Place::Server(server) => {
                let list = server.get("/tokens").await?;
                Ok(list["items"].as_array().cloned().unwrap_or_default())
            }
            Place::Folder(_lock, store) => {
                let now = now_ms();
                let mut tokens = records(&store)?;
                tokens.sort_by_key(|token| std::cmp::Reverse(token.created_at_ms));
                Ok(tokens.iter().map(|token| token_body(token, now)).collect())
            }
        }
    }

    async fn revoke(self, id: &str) -> Result<Value, Failure> {
        match self {
            Place::Server(server) => server.delete(&format!("/tokens/{id}")).await,
            Place::Folder(_lock, mut store) => {
                let now = now_ms();
                let known = records(&store)?.into_iter().find(|t| t.token_id == id);
                let known = known.ok_or_else(|| refused(TokenError::NoSuchToken(id.into())))?;
                let record = revoked(&known, now);
                let change = TokenChange::Revoked {
                    token_id: record.token_id.clone(),
                    at_ms: record.revoked_at_ms.unwrap_or(now),
                };
                keep(&mut store, vec![change])?;
                Ok(token_body(&record, now))
            }
        }
    }
}

fn records(store: &OpenStore) -> Result<Vec<TokenRecord>, Failure> {
    let all = store.reads.tokens();
    let mut all = all.map_err(|error| Failure::new(Exit::Data, error))?;
    all.retain(|token| token.session_of.is_none());
    Ok(all)
}

pub(super) fn keep(store: &mut OpenStore, changes: Vec<TokenChange>) -> Result<(), Failure> {
    let change = SystemChange {
        tokens: changes,
        ..SystemChange::default()
    };
    let written = store.writer.write(&[Write::System(change)]);
    written
        .map(drop)
        .map_err(|error| Failure::new(Exit::Data, error))
}

pub(super) fn refused(error: TokenError) -> Failure {
    let exit = match error {
        TokenError::Bad { .. } => Exit::Usage,
        _ => Exit::Failed,
    };
    let hint = match error {
        TokenError::NoSuchToken(_) => "; `ccfleet token list` shows them",
        _ => "",
    };
    Failure::new(exit, format!("{error}{hint}"))
}

/// The text alone on standard output, so that it can be piped; the rest beside it.
fn told(made: &Value) {
    let id = text(made, "token_id");
    let rights = match made.get("client_id").and_then(Value::as_str) {
        Some(name) => format!("computers named {name}, of {}", text(made, "owner")),
        None => format!("{} of {}", text(made, "role"), text(made, "owner")),
    };
    eprintln!("{id}: {rights}. This is its text; it is not shown again:");
    say!("{}", text(made, "secret"));
}

fn text<'a>(body: &'a Value, key: &str) -> &'a str {
    body.get(key).and_then(Value::as_str).unwrap_or("-")
}

fn table(tokens: &[Value]) -> Vec<String> {
    if tokens.is_empty() {
        return vec!["no tokens; make one: ccfleet token create NAME --role admin".to_owned()];
    }
    let mut rows =
        vec![["ID", "NAME", "OWNER", "FOR", "TOOLS", "STATE", "LAST USED"].map(str::to_owned)];
    rows.extend(tokens.iter().map(|token| {
        let whom = match token.get("client_id").and_then(Value::as_str) {
            Some(name) => format!("computer {name}"),
            None => text(token, "role").to_owned(),
        };
        let tools = token.get("tools").and_then(Value::as_array);
        let tools = tools.map(|tools| tools.iter().filter_map(Value::as_str).collect::<Vec<_>>());
        [
            text(token, "token_id").to_owned(),
            text(token, "name").to_owned(),
            text(token, "owner").to_owned(),
            whom,
            tools.map_or("all".to_owned(), |tools| tools.join(",")),
            text(token, "state").to_owned(),
            text(token, "last_used_at").to_owned(),
        ]
    }));
    let widths: Vec<usize> = (0..7)
        .map(|at| {
            rows.iter()
                .map(|row| row[at].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |row: &[String; 7]| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(name: &str) -> Create {
        Create {
            name: name.into(),
            role: Some(Role::Operator),
            computer: None,
            owner: Some("ada".into()),
            tools: Some(vec!["fs_*".into()]),
            expires: Some(std::time::Duration::from_secs(60)),
        }
    }

    fn here(folder: &Path, makes: bool) -> Result<Place, Failure> {
        let server = ServerArg {
            server: "127.0.0.1:9".to_owned(),
            token_file: None,
        };
        Place::find(folder, &server, makes)
    }

    #[actix::test]
    async fn without_a_server_tokens_are_made_listed_and_revoked_in_the_data_folder() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("data");
        assert_eq!(here(&folder, false).err().unwrap().exit, Exit::Data);
        assert!(!folder.exists(), "looking makes nothing");
        let made = here(&folder, true).unwrap();
        let made = made.create(create("bot").wanted(now_ms())).await.unwrap();
        let secret = text(&made, "secret").to_owned();
        assert!(secret.starts_with("ccf_"), "{made}");
        let list = here(&folder, false).unwrap().list().await.unwrap();
        assert_eq!(text(&list[0], "state"), "live");
        assert_eq!(list[0]["expires_at"], made["expires_at"]);
        let shown = table(&list).join("\n");
        assert!(shown.contains("bot") && shown.contains("operator") && shown.contains("fs_*"));
        assert!(!shown.contains(&secret[17..]) && list[0].get("secret").is_none());
        let id = text(&made, "token_id").to_owned();
        let revoked = here(&folder, false).unwrap().revoke(&id).await.unwrap();
        assert_eq!(text(&revoked, "state"), "revoked");
        let missing = here(&folder, false).unwrap().revoke("tok_x").await;
        assert!(missing.unwrap_err().text.contains("token list"));
        // The text itself is nowhere in the folder.
        for entry in std::fs::read_dir(&folder).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let found = bytes
                .windows(20)
                .any(|piece| piece == &secret.as_bytes()[17..37]);
            assert!(!found);
        }
    }

    #[actix::test]
    async fn a_server_that_has_the_folder_is_asked_with_the_operators_key() {
        let parent = tempfile::tempdir().unwrap();
        let held = DataFolder::lock(parent.path()).unwrap();
        assert_eq!(here(parent.path(), true).err().unwrap().exit, Exit::Data);
        held.operator_key().unwrap();
        let place = here(parent.path(), true).unwrap();
        let failure = place
            .create(create("bot").wanted(now_ms()))
            .await
            .unwrap_err();
        assert!(
            failure.text.contains("http://127.0.0.1:9"),
            "{}",
            failure.text
        );
    }

    #[actix::test]
    async fn what_cannot_be_a_token_is_refused_before_anything_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let new = Create {
            owner: Some("local".into()),
            ..create("bot")
        };
        let place = here(parent.path(), true).unwrap();
        let failure = place.create(new.wanted(now_ms())).await.unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(
            here(parent.path(), false)
                .unwrap()
                .list()
                .await
                .unwrap()
                .is_empty()
        );
    }
}
