use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

use super::client::*;

async fn get(answer: &str, query: &str) -> Got {
    let portal = portal(&format!("[[fault]]\nanswer = {answer}")).await;
    let got = Client::of(&portal).await.get(query).await;
    assert_eq!(portal.requests()[0].answered, Some(got.status));
    got
}

#[tokio::test]
async fn every_generation_of_errors_is_answered_as_it_was_seen() {
    async fn check(answer: &str, status: u16, content_type: &str, body: &str) {
        let got = get(answer, &format!("{}&_type=json", page(1, 10))).await;
        assert_eq!((got.status, got.text().as_str()), (status, body), "{answer}");
        assert_eq!(header(&got.head, "content-type"), Some(content_type), "{answer}");
    }
    let (text, json) = ("text/plain;charset=UTF-8", "application/json;charset=UTF-8");
    check(
        r#"{ kind = "gateway1", code = "22" }"#,
        200,
        "text/xml;charset=UTF-8",
        "<OpenAPI_ServiceResponse><cmmMsgHeader><errMsg>SERVICE ERROR</errMsg>\
         <returnAuthMsg>LIMITED_NUMBER_OF_SERVICE_REQUESTS_EXCEEDS_ERROR</returnAuthMsg>\
         <returnReasonCode>22</returnReasonCode></cmmMsgHeader></OpenAPI_ServiceResponse>",
    )
    .await;
    check(r#"{ kind = "gateway2", text = "unauthorized" }"#, 401, text, "Unauthorized").await;
    check(r#"{ kind = "gateway2", text = "forbidden" }"#, 403, text, "Forbidden").await;
    check(r#"{ kind = "gateway2", text = "not_found" }"#, 404, text, "API not found").await;
    check(r#"{ kind = "gateway2", text = "rate" }"#, 429, text, "API rate limit exceeded").await;
    check(r#"{ kind = "gateway2", text = "quota", status = 200 }"#, 200, text, "API token quota exceeded").await;
    check(r#"{ kind = "gateway2", text = "unexpected" }"#, 500, text, "Unexpected errors").await;
    let forwarding = "Error forwarding request to backend server";
    check(r#"{ kind = "gateway2", text = "forwarding" }"#, 500, text, forwarding).await;
    let receiving = "Error receiving response from backend server";
    check(r#"{ kind = "gateway2", text = "receiving" }"#, 500, text, receiving).await;
    check(
        r#"{ kind = "gateway3", code = "30" }"#,
        403,
        json,
        r#"{"OpenAPI_ServiceResponse":{"cmmMsgHeader":{"errMsg":"SERVICE_KEY_IS_NOT_REGISTERED_ERROR","returnAuthMsg":"등록되지 않은 서비스키","returnReasonCode":"30"}}}"#,
    )
    .await;
    let header_only = r#"{"response":{"header":{"resultCode":"99","resultMsg":"UNKNOWN_ERROR"}}}"#;
    check(r#"{ kind = "agency", code = "99" }"#, 200, json, header_only).await;
    let null_body = r#"{"response":{"header":{"resultCode":"03","resultMsg":"NODATA_ERROR"},"body":null}}"#;
    check(r#"{ kind = "agency", code = "03", shape = "null_body" }"#, 200, json, null_body).await;
    let unwrapped = r#"{"header":{"resultCode":"10","resultMsg":"INVALID_REQUEST_PARAMETER_ERROR"}}"#;
    check(r#"{ kind = "agency", code = "10", shape = "unwrapped" }"#, 200, json, unwrapped).await;
    check(r#"{ kind = "bare", status = 429 }"#, 429, text, "").await;
    check(r#"{ kind = "empty" }"#, 200, text, "").await;
    let page_504 = get(r#"{ kind = "html", status = 504 }"#, &page(1, 10)).await;
    assert_eq!(page_504.status, 504);
    assert!(page_504.text().contains("<title>504 Gateway Time-out</title>"));
}

#[tokio::test]
async fn errors_come_as_xml_unless_json_was_asked() {
    let gateway = get(r#"{ kind = "gateway3", code = "23" }"#, &page(1, 10)).await;
    assert_eq!(gateway.status, 429);
    assert_eq!(
        gateway.text(),
        "<OpenAPI_ServiceResponse><cmmMsgHeader>\
         <errMsg>LIMITED_NUMBER_OF_SERVICE_REQUESTS_PER_SECOND_EXCEEDS_ERROR</errMsg>\
         <returnAuthMsg>초당 서비스 요청제한 횟수 초과 에러</returnAuthMsg><returnReasonCode>23</returnReasonCode>\
         </cmmMsgHeader></OpenAPI_ServiceResponse>"
    );
    let agency = get(r#"{ kind = "agency", code = "030" }"#, &page(1, 10)).await;
    assert!(agency.text().ends_with(
        "<response><header><resultCode>030</resultCode>\
         <resultMsg>SERVICE_KEY_IS_NOT_REGISTERED_ERROR</resultMsg></header></response>"
    ));
    let zero = get(r#"{ kind = "agency", code = "22", shape = "zero_body" }"#, &page(1, 10)).await;
    assert!(zero.text().contains("<totalCount>0</totalCount>"));
}

#[tokio::test]
async fn retry_after_is_sent_in_seconds_as_a_date_or_as_nonsense() {
    async fn retry_after(value: &str) -> String {
        let got = get(&format!(r#"{{ kind = "bare", status = 503, retry_after = {value} }}"#), &page(1, 10)).await;
        header(&got.head, "retry-after").unwrap().to_owned()
    }
    assert_eq!(retry_after("7").await, "7");
    assert_eq!(retry_after("0").await, "0");
    assert_eq!(retry_after("\"soon\"").await, "soon");
    let before = Timestamp::now();
    let date = retry_after("{ date_in_s = 60 }").await;
    let ahead = DateTimeParser::new().parse_timestamp(date.as_bytes()).unwrap().duration_since(before).as_secs();
    assert!((59..=65).contains(&ahead), "{date}");
    let past = retry_after("{ date_in_s = -60 }").await;
    assert!(DateTimeParser::new().parse_timestamp(past.as_bytes()).unwrap() < before, "{past}");
}

#[tokio::test]
async fn a_redirect_points_elsewhere() {
    let got = get(r#"{ kind = "redirect", to = "http://127.0.0.2:9/elsewhere" }"#, &page(1, 10)).await;
    assert_eq!(got.status, 302);
    assert_eq!(header(&got.head, "location"), Some("http://127.0.0.2:9/elsewhere"));
}

#[tokio::test]
async fn a_key_can_be_echoed_by_pages_and_by_errors() {
    async fn check(fault: &str, expected: &str) {
        let portal = portal(&format!("rows = 1\n[[fault]]\n{fault}")).await;
        let got = Client::of(&portal).await.get(&format!("serviceKey=aB3%2Bcd%2F%3D&{}", page(1, 10))).await;
        assert!(got.text().contains(expected), "{fault}: {}", got.text());
        let log = serde_json::to_string(&portal.requests()).unwrap();
        assert!(!log.contains("aB3"), "the log has no part of the key");
    }
    check("echo_key = \"decoded\"", "<resultMsg>OK serviceKey=aB3+cd/=</resultMsg>").await;
    check("echo_key = \"encoded\"", "serviceKey=aB3%2Bcd%2F%3D").await;
    for answer in [
        r#"{ kind = "gateway1", code = "30" }"#,
        r#"{ kind = "gateway2", text = "unauthorized" }"#,
        r#"{ kind = "gateway3", code = "30" }"#,
        r#"{ kind = "agency", code = "30" }"#,
        r#"{ kind = "html", status = 500 }"#,
    ] {
        check(&format!("echo_key = \"decoded\"\nanswer = {answer}"), "serviceKey=aB3+cd/=").await;
    }
}

#[tokio::test]
async fn an_unknown_path_is_code_12_before_the_key_is_looked_at() {
    let portal = portal("key = \"right\"").await;
    let mut client = Client::of(&portal).await;
    client.send("GET /1613000/RTMSDataSvcAptTrade/getSomethingElse HTTP/1.1\r\n\r\n").await;
    let got = client.answer().await;
    assert_eq!(got.status, 400);
    assert!(got.text().contains("<returnReasonCode>12</returnReasonCode>"));
    client.send(&format!("POST {} HTTP/1.1\r\n\r\n", crate::sandbox::Service::AptTrade.path())).await;
    assert_eq!(client.answer().await.status, 405);
}

#[tokio::test]
async fn an_error_can_take_its_time() {
    let portal = portal("[[fault]]\nwait_ms = 40\nanswer = { kind = \"gateway1\", code = \"05\" }").await;
    let mut client = Client::of(&portal).await;
    let before = std::time::Instant::now();
    client.get(&page(1, 10)).await;
    assert!(before.elapsed() >= Duration::from_millis(40));
}
