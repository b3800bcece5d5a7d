//! Real limiters as judges of the probe and of the pacer: their own logs say what was refused.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::limiter::{behind, refused};

const PATH: &str = "/1613000/RTMSDataSvcAptTrade/getRTMSDataSvcAptTrade?LAWD_CD=11110&DEAL_YMD=202401&numOfRows=100";

#[test]
fn each_limiter_refuses_what_comes_too_fast() {
    for (preset, status) in [
        ("nginx-leaky", 429),
        ("nginx-leaky-503", 503),
        ("nginx-burst", 429),
        ("nginx-conn", 503),
        ("haproxy-window", 429),
        ("haproxy-ban", 403),
        ("haproxy-envelope", 200),
    ] {
        let (_world, limiter) = behind(preset);
        let address = limiter.base_url().replace("http://", "");
        let ask = &|number: usize| {
            let mut stream = TcpStream::connect(&address).unwrap();
            write!(stream, "GET {PATH}&pageNo={number} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
            stream.read_to_end(&mut Vec::new()).unwrap();
        };
        std::thread::scope(|scope| {
            for number in 1..=90 {
                scope.spawn(move || ask(number));
            }
        });
        let seen = limiter.seen();
        assert_eq!(seen.len(), 90, "{preset}");
        assert!((1..90).contains(&refused(&seen).count), "{preset}: {}", refused(&seen));
        assert!(seen.iter().all(|seen| !seen.is_refused || seen.status == status), "{preset}");
    }
}
