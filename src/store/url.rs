use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use url::{Host, Url};

use crate::model::name::Name;

/// Where a store is: `sqlite://PATH`, the path relative or absolute, or `postgres://USER@HOST/DATABASE`.
///
/// Shows itself without a password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    at: At,
}

#[derive(Clone, PartialEq, Eq)]
enum At {
    File(PathBuf),
    Server(ServerUrl),
}

/// What a [`StoreUrl`] names.
#[derive(Clone, Copy, Debug)]
pub enum Place<'u> {
    File(&'u Path),
    Server(&'u ServerUrl),
}

/// Where a store on PostgreSQL is: a server, a database on it, and a schema in that.
///
/// May hold a password; shows itself without.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl {
    url: Url,
    schema: Name,
}

/// Why a text is no [`StoreUrl`]. Shows no more of it than the scheme, because a URL may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreUrlError {
    #[error("the store URL names no scheme: write `sqlite://` before the path of a file, or `postgres://` before a host")]
    NoScheme,
    #[error("no store has the scheme `{scheme}`: write `sqlite://` and the path of a file, or `postgres://` and a host")]
    UnknownScheme { scheme: String },
    #[error("the store URL names no file: write `sqlite://gapless.db`, for example")]
    NoFile,
    #[error("the store URL has options behind a `?`, which SQLite stores do not take: write the path alone")]
    Options,
    #[error("a store is a file: it can not live in memory")]
    InMemory,
    #[error("the store URL can not be read: write `postgres://USER@HOST:PORT/DATABASE`, special characters as `%XX`")]
    Unreadable,
    #[error("the store URL has an option `{option}`, which is none of: {known}", known = SERVER_OPTIONS.join(", "))]
    UnknownOption { option: String },
    #[error("`{mode}` is no `sslmode`: write one of disable, prefer, require, verify-ca, verify-full")]
    UnknownTlsMode { mode: String },
    #[error("`{schema}` can not be the name of a schema: write small letters, digits and single `_`, at most 40 of them")]
    NoSchema { schema: String },
}

/// What may stand behind the `?` of a URL of PostgreSQL.
const SERVER_OPTIONS: [&str; 7] = ["host", "port", "password", "schema", "sslmode", "sslrootcert", "user"];
const DEFAULT_SCHEMA: &str = "gapless";

impl StoreUrl {
    /// The URL of the file at `path`.
    pub fn of_file(path: impl Into<PathBuf>) -> Self {
        Self { at: At::File(path.into()) }
    }

    pub fn place(&self) -> Place<'_> {
        match &self.at {
            At::File(path) => Place::File(path),
            At::Server(server) => Place::Server(server),
        }
    }

    /// The file it is, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match &self.at {
            At::File(path) => Some(path),
            At::Server(_) => None,
        }
    }

    /// Where on a server it is, if it is on one.
    pub fn server(&self) -> Option<&ServerUrl> {
        match &self.at {
            At::File(_) => None,
            At::Server(server) => Some(server),
        }
    }

    /// The same place, a relative path taken from `folder`: settings are relative to their file.
    pub fn below(self, folder: &Path) -> Self {
        match self.at {
            At::File(path) => Self::of_file(folder.join(path)),
            At::Server(_) => self,
        }
    }

    /// The same server, in `schema` unless the URL names one itself; a file has none.
    pub fn in_schema(self, schema: &Name) -> Self {
        match self.at {
            At::Server(server) if !server.has("schema") => {
                Self { at: At::Server(ServerUrl { schema: schema.clone(), ..server }) }
            }
            At::File(_) | At::Server(_) => self,
        }
    }

    /// The same server, with what the environment says of it where the URL says nothing: as the driver would take it, so that
    /// it is shown, and nothing that is misspelled is passed over.
    ///
    /// Errors: a PGSSLMODE that is none.
    pub fn completed_by<'v>(self, variable: impl Fn(&str) -> Option<&'v str>) -> Result<Self, StoreUrlError> {
        let At::Server(mut server) = self.at else { return Ok(self) };
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        if !server.has("sslmode")
            && let Some(mode) = given("PGSSLMODE")
        {
            check_tls_mode(mode)?;
            server.url.query_pairs_mut().append_pair("sslmode", mode);
        }
        let names_host = server.has("host") || server.url.host().is_some();
        if !names_host && let Some(host) = given("PGHOSTADDR").or_else(|| given("PGHOST")) {
            server.url.query_pairs_mut().append_pair("host", host);
        }
        Ok(Self { at: At::Server(server) })
    }

    /// Whether a password stands in it, which the list of processes would show to everybody on the machine.
    pub fn has_password(&self) -> bool {
        self.server().is_some_and(|server| server.url.password().is_some() || server.has("password"))
    }
}

impl ServerUrl {
    /// For the driver alone: with its password.
    pub fn with_password(&self) -> Url {
        let mut url = self.url.clone();
        let kept: Vec<(String, String)> =
            url.query_pairs().filter(|(name, _)| name != "schema").map(|(name, value)| (name.into(), value.into())).collect();
        url.set_query(None);
        if !kept.is_empty() {
            url.query_pairs_mut().extend_pairs(kept);
        }
        url
    }

    pub fn schema(&self) -> &Name {
        &self.schema
    }

    /// Whether what is sent can be read on its way: the server is at another machine, and nothing demands TLS.
    pub fn is_readable_by_others(&self) -> bool {
        let mode = self.option("sslmode");
        let demands_tls = mode.is_some_and(|mode| matches!(mode.as_str(), "require" | "verify-ca" | "verify-full"));
        !demands_tls && !self.is_here()
    }

    fn is_here(&self) -> bool {
        match self.option("host") {
            Some(host) => is_local(&host),
            None => match self.url.host() {
                // The socket of this machine.
                None => true,
                Some(Host::Domain(name)) => is_local(&name.replace("%2F", "/").replace("%2f", "/")),
                Some(Host::Ipv4(address)) => address.is_loopback(),
                Some(Host::Ipv6(address)) => address.is_loopback(),
            },
        }
    }

    fn has(&self, option: &str) -> bool {
        self.option(option).is_some()
    }

    fn option(&self, option: &str) -> Option<String> {
        self.url.query_pairs().find(|(name, _)| name == option).map(|(_, value)| value.into_owned())
    }
}

fn is_local(host: &str) -> bool {
    host.is_empty()
        || host.starts_with('/')
        || host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(StoreUrlError::NoScheme)?;
        match scheme {
            "sqlite" => file(rest),
            "postgres" | "postgresql" => server(text),
            _ => Err(StoreUrlError::UnknownScheme { scheme: scheme.to_owned() }),
        }
    }
}

fn file(path: &str) -> Result<StoreUrl, StoreUrlError> {
    if path == ":memory:" {
        return Err(StoreUrlError::InMemory);
    }
    if path.contains('?') {
        return Err(StoreUrlError::Options);
    }
    let is_file = !path.is_empty() && !path.ends_with(['/', '.']) && !path.contains('\0');
    is_file.then(|| StoreUrl::of_file(path)).ok_or(StoreUrlError::NoFile)
}

fn server(text: &str) -> Result<StoreUrl, StoreUrlError> {
    let url: Url = text.parse().map_err(|_| StoreUrlError::Unreadable)?;
    let mut schema = Name::literal(DEFAULT_SCHEMA);
    for (option, value) in url.query_pairs() {
        match &*option {
            "schema" => schema = schema_of(&value)?,
            "sslmode" => check_tls_mode(&value)?,
            option if SERVER_OPTIONS.contains(&option) => (),
            // The driver would pass over it, and say its value.
            _ => return Err(StoreUrlError::UnknownOption { option: option.into_owned() }),
        }
    }
    Ok(StoreUrl { at: At::Server(ServerUrl { url, schema }) })
}

fn check_tls_mode(mode: &str) -> Result<(), StoreUrlError> {
    let is_known = ["disable", "prefer", "require", "verify-ca", "verify-full"].contains(&mode);
    if is_known { Ok(()) } else { Err(StoreUrlError::UnknownTlsMode { mode: mode.to_owned() }) }
}

/// A schema by its name; those of the database itself are none of ours.
pub fn schema_of(text: &str) -> Result<Name, StoreUrlError> {
    let unfit = || StoreUrlError::NoSchema { schema: text.to_owned() };
    let name: Name = text.parse().map_err(|_| unfit())?;
    let is_ours = !text.starts_with("pg_") && text != "information_schema";
    is_ours.then_some(name).ok_or_else(unfit)
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            At::File(path) => write!(f, "sqlite://{}", path.display()),
            At::Server(server) => server.fmt(f),
        }
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.url.clone();
        // Only a URL without a host refuses, and that has no password.
        shown.set_password(None).ok();
        let kept: Vec<(String, String)> = self
            .url
            .query_pairs()
            .filter(|(name, _)| name != "password")
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        shown.set_query(None);
        let options: Vec<String> = kept.iter().map(|(name, value)| format!("{name}={value}")).collect();
        write!(f, "{shown}{}{}", if options.is_empty() { "" } else { "?" }, options.join("&"))
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerUrl({self})")
    }
}

#[cfg(test)]
#[path = "url_tests.rs"]
mod tests;
