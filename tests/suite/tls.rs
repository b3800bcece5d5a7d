//! A store on a server that speaks TLS and nothing else.

use std::net::TcpListener;

use crate::server::Server;
use crate::world::World;

const ONE: &str = "collect apt_trade --months 2024-01 --regions 11110 --create";

/// A port that was free a moment ago.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_certificate_is_checked_as_far_as_the_url_asks() {
    let port = port();
    let Some(server) = Server::start(Some(port)) else { return };
    let ca = server.secure();
    let check = |host: &str, options: &str, exit: u8, said: &str| {
        let url = format!("postgres://gapless@{host}:{port}/postgres?{options}");
        let run = World::playing("rows = 3").set("store.url", &url).run(ONE).exits(exit.into());
        assert!(run.stdout.contains(said) || run.stderr.contains(said), "{url}: `{said}` in\n{}{}", run.stdout, run.stderr);
    };
    let known = format!("sslrootcert={ca}");
    check("localhost", &format!("sslmode=verify-full&{known}&schema=full"), 0, "3 rows");
    check("127.0.0.1", &format!("sslmode=verify-ca&{known}&schema=ca"), 0, "3 rows");
    check("127.0.0.1", "sslmode=require&schema=unknown", 0, "3 rows");
    check("127.0.0.1", &format!("sslmode=verify-full&{known}"), 7, "certificate not valid for name");
    check("localhost", "sslmode=verify-full", 7, "no trusted connection to its server can be made");
    check("localhost", "sslmode=verify-ca", 7, "check `sslmode` and `sslrootcert`");
    check("localhost", "sslmode=disable", 7, "no encryption");
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_demanded() {
    let port = port();
    let Some(_server) = Server::start(Some(port)) else { return };
    for mode in ["require", "verify-ca", "verify-full"] {
        let url = format!("postgres://gapless@localhost:{port}/postgres?sslmode={mode}");
        let run = World::playing("rows = 3").set("store.url", &url).run(ONE).exits(7);
        assert!(run.stderr.contains("TLS") || run.stdout.contains("TLS"), "{mode}: {}{}", run.stdout, run.stderr);
    }
}
