use super::*;

#[test]
fn a_store_url_is_sqlite_and_the_path_of_a_file() {
    let check = |text: &str, path: &str| {
        let url: StoreUrl = text.parse().unwrap();
        assert_eq!((url.file(), url.to_string().as_str()), (Some(Path::new(path)), text));
    };
    check("sqlite://gapless.db", "gapless.db");
    check("sqlite:///var/lib/gapless/all.db", "/var/lib/gapless/all.db");
    check("sqlite://../night/a b.db", "../night/a b.db");
}

#[test]
fn a_store_url_of_postgres_is_shown_without_its_password() {
    let check = |text: &str, shown: &str, schema: &str, has_password: bool| {
        let url: StoreUrl = text.parse().unwrap();
        assert_eq!((url.to_string().as_str(), url.has_password()), (shown, has_password));
        let server = url.server().unwrap();
        assert_eq!(server.schema().as_str(), schema);
        assert!(!format!("{url:?} {server:?}").contains("secret"));
    };
    check("postgres://me@db.example/all", "postgres://me@db.example/all", "gapless", false);
    check("postgresql://me:secret@db.example:5433/all", "postgresql://me@db.example:5433/all", "gapless", true);
    check("postgres://me@h/all?password=secret&sslmode=verify-full", "postgres://me@h/all?sslmode=verify-full", "gapless", true);
    check("postgres:///all?host=/run/pg&schema=night", "postgres:///all?host=/run/pg&schema=night", "night", false);
}

#[test]
fn the_driver_is_given_the_password_and_not_the_schema() {
    let url: StoreUrl = "postgres://me:secret@h/all?schema=night&sslmode=require".parse().unwrap();
    assert_eq!(url.server().unwrap().with_password().as_str(), "postgres://me:secret@h/all?sslmode=require");
}

#[test]
fn another_url_is_refused_without_showing_its_password() {
    let check = |text: &str, expected: StoreUrlError| {
        assert!(!expected.to_string().contains("secret"));
        assert_eq!(text.parse::<StoreUrl>(), Err(expected), "{text}");
    };
    check("gapless.db", StoreUrlError::NoScheme);
    check("sqlite:gapless.db", StoreUrlError::NoScheme);
    check("mysql://user:secret@host/db", StoreUrlError::UnknownScheme { scheme: "mysql".to_owned() });
    check("postgres://user:secret@host:port/db", StoreUrlError::Unreadable);
    check("postgres://host/db?passwort=secret", StoreUrlError::UnknownOption { option: "passwort".to_owned() });
    check("postgres://host/db?sslmode=verify_full", StoreUrlError::UnknownTlsMode { mode: "verify_full".to_owned() });
    check("postgres://host/db?schema=Night", StoreUrlError::NoSchema { schema: "Night".to_owned() });
    check("postgres://host/db?schema=pg_temp", StoreUrlError::NoSchema { schema: "pg_temp".to_owned() });
    check("sqlite://", StoreUrlError::NoFile);
    check("sqlite://folder/", StoreUrlError::NoFile);
    check("sqlite://..", StoreUrlError::NoFile);
    check("sqlite://:memory:", StoreUrlError::InMemory);
    check("sqlite://gapless.db?mode=ro", StoreUrlError::Options);
}

#[test]
fn a_relative_path_is_taken_from_the_folder_of_the_settings() {
    let below = |text: &str| text.parse::<StoreUrl>().unwrap().below(Path::new("/etc/gapless")).file().unwrap().to_owned();
    assert_eq!(below("sqlite://all.db"), Path::new("/etc/gapless/all.db"));
    assert_eq!(below("sqlite:///srv/all.db"), Path::new("/srv/all.db"));
}

#[test]
fn a_schema_in_the_url_goes_before_that_of_the_settings() {
    let schema = |text: &str| {
        let url = text.parse::<StoreUrl>().unwrap().in_schema(&Name::literal("nightly"));
        url.server().unwrap().schema().to_string()
    };
    assert_eq!(schema("postgres://h/all"), "nightly");
    assert_eq!(schema("postgres://h/all?schema=other"), "other");
}

#[test]
fn only_another_machine_without_tls_can_be_listened_to() {
    let check = |text: &str, expected: bool| {
        let url: StoreUrl = text.parse().unwrap();
        assert_eq!(url.server().unwrap().is_readable_by_others(), expected, "{text}");
    };
    check("postgres://db.example/all", true);
    check("postgres://10.0.0.1/all?sslmode=prefer", true);
    check("postgres://10.0.0.1/all?sslmode=disable", true);
    check("postgres://db.example/all?sslmode=verify-full", false);
    check("postgres://db.example/all?sslmode=require", false);
    check("postgres://localhost/all?host=db.example", true);
    check("postgres://localhost/all", false);
    check("postgres://127.0.0.1/all", false);
    check("postgres://[::1]/all", false);
    check("postgres:///all?host=/run/pg", false);
    check("postgres://%2Frun%2Fpg/all", false);
}

#[test]
fn the_environment_completes_what_the_url_does_not_say() {
    let check = |text: &str, variables: &[(&str, &'static str)], shown: &str, is_readable: bool| {
        let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let url = text.parse::<StoreUrl>().unwrap().completed_by(variable).unwrap();
        assert_eq!(url.to_string(), shown);
        assert_eq!(url.server().unwrap().is_readable_by_others(), is_readable, "{text}");
    };
    check("postgres://h/all", &[("PGSSLMODE", "verify-full"), ("PGHOST", "x")], "postgres://h/all?sslmode=verify-full", false);
    check("postgres://h/all?sslmode=prefer", &[("PGSSLMODE", "require")], "postgres://h/all?sslmode=prefer", true);
    check("postgres:///all", &[("PGHOST", "h")], "postgres:///all?host=h", true);
    check("postgres:///all", &[("PGHOST", "h"), ("PGHOSTADDR", "10.0.0.1")], "postgres:///all?host=10.0.0.1", true);
    check("postgres:///all?host=/run/pg", &[("PGHOST", "h"), ("PGSSLMODE", "")], "postgres:///all?host=/run/pg", false);
    let misspelled = "postgres://h/all".parse::<StoreUrl>().unwrap().completed_by(|_| Some("verify_full")).unwrap_err();
    assert!(misspelled.to_string().contains("verify_full"), "{misspelled}");
}
