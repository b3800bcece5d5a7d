use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use serde::Deserialize;

use super::render::{Format, escape_xml, json_text};

/// What is answered instead of a page. Every kind has been seen on data.go.kr.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// The gateway until 2024, at times still: its own XML envelope with HTTP 200, whatever format was asked.
    Gateway1 { code: String, status: Option<u16> },
    /// The gateway from 2024 to mid 2026: a few bare words with a status of their own.
    Gateway2 { text: PlainText, status: Option<u16>, retry_after: Option<RetryAfter> },
    /// The gateway since 2026-08: the envelope in the format asked, a true status, and token and Korean text swapped.
    Gateway3 { code: String, status: Option<u16>, retry_after: Option<RetryAfter> },
    /// The service's own envelope with a result code, HTTP 200.
    Agency {
        code: String,
        #[serde(default)]
        shape: AgencyShape,
    },
    /// A page for people, as a proxy or a firewall sends it.
    Html { status: u16, retry_after: Option<RetryAfter> },
    /// A status and no body.
    Bare { status: u16, retry_after: Option<RetryAfter> },
    /// A redirect to elsewhere.
    Redirect {
        to: String,
        #[serde(default = "found")]
        status: u16,
    },
    /// HTTP 200 without a byte.
    Empty {},
}

/// Bare words of the gateway, each with the status it usually has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainText {
    Unauthorized,
    Forbidden,
    NotFound,
    Rate,
    Quota,
    Unexpected,
    Forwarding,
    Receiving,
}

/// What follows the header of an agency's error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgencyShape {
    #[default]
    HeaderOnly,
    NullBody,
    /// A body that says 0 rows.
    ZeroBody,
    /// No `response` around it.
    Unwrapped,
}

/// A `Retry-After` header: seconds, a date so many seconds ahead, or any text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "seconds, a text, or `{ date_in_s = … }`", deny_unknown_fields)]
pub enum RetryAfter {
    Seconds(u64),
    Date { date_in_s: i64 },
    Text(String),
}

/// An answer in all its parts, before the wire.
#[derive(Debug)]
pub(super) struct Reply {
    pub status: u16,
    pub content_type: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The answer in the format asked for; `note` is appended to its message.
    pub(super) fn reply(&self, format: Format, note: &str, now: Timestamp) -> Reply {
        let retry_after = |wait: &Option<RetryAfter>| wait.iter().map(|wait| ("retry-after", wait.header(now))).collect();
        match self {
            Self::Gateway1 { code, status } => {
                let (token, _, _) = code_row(code);
                let body = gateway_envelope(Format::Xml, &format!("SERVICE ERROR{note}"), token, code);
                Reply { content_type: "text/xml;charset=UTF-8", ..reply(status.unwrap_or(200), body) }
            }
            Self::Gateway2 { text, status, retry_after: wait } => {
                let (usual, words) = text.row();
                let body = format!("{words}{note}");
                Reply { headers: retry_after(wait), ..reply(status.unwrap_or(usual), body) }
            }
            Self::Gateway3 { code, status, retry_after: wait } => {
                let (token, korean, usual) = code_row(code);
                let body = gateway_envelope(format, token, &format!("{korean}{note}"), code);
                let reply = reply(status.unwrap_or(usual), body);
                Reply { content_type: format.content_type(), headers: retry_after(wait), ..reply }
            }
            Self::Agency { code, shape } => {
                let body = agency_envelope(format, *shape, code, &format!("{}{note}", code_row(code).0));
                Reply { content_type: format.content_type(), ..reply(200, body) }
            }
            Self::Html { status, retry_after: wait } => {
                let title = format!("{status} {}", reason(*status));
                let body = format!(
                    "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n\
                     <hr><center>nginx{}</center>\r\n</body>\r\n</html>\r\n",
                    escape_xml(note)
                );
                Reply { content_type: "text/html", headers: retry_after(wait), ..reply(*status, body) }
            }
            Self::Bare { status, retry_after: wait } => Reply { headers: retry_after(wait), ..reply(*status, String::new()) },
            Self::Redirect { to, status } => Reply { headers: vec![("location", to.clone())], ..reply(*status, String::new()) },
            Self::Empty {} => reply(200, String::new()),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Gateway1 { .. } => "gateway1",
            Self::Gateway2 { .. } => "gateway2",
            Self::Gateway3 { .. } => "gateway3",
            Self::Agency { .. } => "agency",
            Self::Html { .. } => "html",
            Self::Bare { .. } => "bare",
            Self::Redirect { .. } => "redirect",
            Self::Empty {} => "empty",
        }
    }
}

/// The reason phrase of a status line.
pub(super) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Temporarily Unavailable",
        504 => "Gateway Time-out",
        _ => "Status",
    }
}

pub(super) fn http_date(at: Timestamp) -> String {
    DateTimePrinter::new().timestamp_to_rfc9110_string(&at).expect("the years of today fit a date of HTTP")
}

impl RetryAfter {
    fn header(&self, now: Timestamp) -> String {
        match self {
            Self::Seconds(seconds) => seconds.to_string(),
            Self::Date { date_in_s } => {
                let ahead = Duration::from_secs(date_in_s.unsigned_abs());
                let at = if *date_in_s < 0 { now.checked_sub(ahead) } else { now.checked_add(ahead) };
                http_date(at.unwrap_or(now))
            }
            Self::Text(text) => text.clone(),
        }
    }
}

impl PlainText {
    fn row(self) -> (u16, &'static str) {
        match self {
            Self::Unauthorized => (401, "Unauthorized"),
            Self::Forbidden => (403, "Forbidden"),
            Self::NotFound => (404, "API not found"),
            Self::Rate => (429, "API rate limit exceeded"),
            Self::Quota => (429, "API token quota exceeded"),
            Self::Unexpected => (500, "Unexpected errors"),
            Self::Forwarding => (500, "Error forwarding request to backend server"),
            Self::Receiving => (500, "Error receiving response from backend server"),
        }
    }
}

/// Token, Korean text and status of a gateway code.
///
/// Source: the portal's code table; the status of the third generation was seen for 12, 22, 23 and 30, the others are
/// taken after them.
fn code_row(code: &str) -> (&'static str, &'static str, u16) {
    match code.trim_start_matches('0') {
        "1" => ("APPLICATION_ERROR", "어플리케이션 에러", 500),
        "2" => ("DB_ERROR", "데이터베이스 에러", 500),
        "3" => ("NODATA_ERROR", "데이터없음 에러", 200),
        "4" => ("HTTP_ERROR", "HTTP 에러", 502),
        "5" => ("SERVICETIMEOUT_ERROR", "서비스 연결실패 에러", 504),
        "10" => ("INVALID_REQUEST_PARAMETER_ERROR", "잘못된 요청 파라메터 에러", 400),
        "11" => ("NO_MANDATORY_REQUEST_PARAMETERS_ERROR", "필수요청 파라메터가 없음", 400),
        "12" => ("NO_OPENAPI_SERVICE_ERROR", "해당 오픈API서비스가 없거나 폐기됨", 400),
        "20" => ("SERVICE_ACCESS_DENIED_ERROR", "서비스 접근거부", 403),
        "21" => ("TEMPORARILY_DISABLE_THE_SERVICEKEY_ERROR", "일시적으로 사용할 수 없는 서비스 키", 403),
        "22" => ("LIMITED_NUMBER_OF_SERVICE_REQUESTS_EXCEEDS_ERROR", "서비스 요청제한횟수 초과에러", 429),
        "23" => ("LIMITED_NUMBER_OF_SERVICE_REQUESTS_PER_SECOND_EXCEEDS_ERROR", "초당 서비스 요청제한 횟수 초과 에러", 429),
        "29" => ("BLACKLIST_IP_ACCESS_ERROR", "차단된 IP의 요청", 403),
        "30" => ("SERVICE_KEY_IS_NOT_REGISTERED_ERROR", "등록되지 않은 서비스키", 403),
        "31" => ("DEADLINE_HAS_EXPIRED_ERROR", "기한만료된 서비스키", 403),
        "32" => ("UNREGISTERED_IP_ERROR", "등록되지 않은 IP", 403),
        "33" => ("UNSIGNED_CALL_ERROR", "서명되지 않은 호출", 403),
        _ => ("UNKNOWN_ERROR", "기타에러", 500),
    }
}

fn reply(status: u16, body: String) -> Reply {
    Reply { status, content_type: "text/plain;charset=UTF-8", headers: Vec::new(), body: body.into_bytes() }
}

fn gateway_envelope(format: Format, message: &str, authority: &str, code: &str) -> String {
    match format {
        Format::Xml => format!(
            "<OpenAPI_ServiceResponse><cmmMsgHeader><errMsg>{}</errMsg><returnAuthMsg>{}</returnAuthMsg>\
             <returnReasonCode>{}</returnReasonCode></cmmMsgHeader></OpenAPI_ServiceResponse>",
            escape_xml(message),
            escape_xml(authority),
            escape_xml(code)
        ),
        Format::Json => format!(
            r#"{{"OpenAPI_ServiceResponse":{{"cmmMsgHeader":{{"errMsg":{},"returnAuthMsg":{},"returnReasonCode":{}}}}}}}"#,
            json_text(message),
            json_text(authority),
            json_text(code)
        ),
    }
}

fn agency_envelope(format: Format, shape: AgencyShape, code: &str, message: &str) -> String {
    match format {
        Format::Xml => {
            let (code, message) = (escape_xml(code), escape_xml(message));
            let header = format!("<header><resultCode>{code}</resultCode><resultMsg>{message}</resultMsg></header>");
            let body = match shape {
                AgencyShape::HeaderOnly | AgencyShape::Unwrapped => "",
                AgencyShape::NullBody => "<body/>",
                AgencyShape::ZeroBody => {
                    "<body><items/><numOfRows>0</numOfRows><pageNo>1</pageNo><totalCount>0</totalCount></body>"
                }
            };
            let prolog = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#;
            match shape {
                AgencyShape::Unwrapped => format!("{prolog}{header}"),
                AgencyShape::HeaderOnly | AgencyShape::NullBody | AgencyShape::ZeroBody => {
                    format!("{prolog}<response>{header}{body}</response>")
                }
            }
        }
        Format::Json => {
            let header = format!(r#""header":{{"resultCode":{},"resultMsg":{}}}"#, json_text(code), json_text(message));
            match shape {
                AgencyShape::HeaderOnly => format!(r#"{{"response":{{{header}}}}}"#),
                AgencyShape::NullBody => format!(r#"{{"response":{{{header},"body":null}}}}"#),
                AgencyShape::ZeroBody => {
                    let body = r#"{"items":"","numOfRows":0,"pageNo":1,"totalCount":0}"#;
                    format!(r#"{{"response":{{{header},"body":{body}}}}}"#)
                }
                AgencyShape::Unwrapped => format!("{{{header}}}"),
            }
        }
    }
}

fn found() -> u16 {
    302
}
