use super::deal::{Deal, Notation};
use super::digits::push_number;
use super::page::{Page, Total};
use super::request::Request;

/// The two formats of the services; XML unless `_type=json` asks for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Xml,
    Json,
}

impl Format {
    pub fn of(request: &Request) -> Self {
        let asks_json = request.query.iter().any(|(name, value)| name == "_type" && value == "json");
        if asks_json { Self::Json } else { Self::Xml }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Xml => "application/xml;charset=UTF-8",
            Self::Json => "application/json;charset=UTF-8",
        }
    }
}

/// Appends a page as the services send it.
///
/// No rows are `<items/>` or `"items":""`, and one row is an object in JSON, not an array.
pub(super) fn render(page: &Page, format: Format, out: &mut Vec<u8>) {
    match format {
        Format::Xml => render_xml(page, out),
        Format::Json => render_json(page, out),
    }
}

fn render_xml(page: &Page, out: &mut Vec<u8>) {
    let mut writer = Writer { out, value: Vec::with_capacity(64) };
    writer.push(r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?><response><header><resultCode>000</resultCode>"#);
    writer.push("<resultMsg>OK");
    writer.push(&escape_xml(&page.note));
    writer.push("</resultMsg></header><body>");
    if page.deals.is_empty() {
        writer.push("<items/>");
    } else {
        writer.push("<items>");
        page.deals.iter().for_each(|deal| writer.xml_row(page, deal));
        writer.push("</items>");
    }
    writer.push("<numOfRows>");
    writer.number(page.size);
    writer.push("</numOfRows><pageNo>");
    writer.number(page.number);
    writer.push("</pageNo>");
    match &page.total {
        Total::Count(total) => {
            writer.push("<totalCount>");
            writer.number(*total);
            writer.push("</totalCount>");
        }
        Total::Text(text) => writer.push(&format!("<totalCount>{}</totalCount>", escape_xml(text))),
        Total::Missing => {}
    }
    writer.push("</body></response>");
}

fn render_json(page: &Page, out: &mut Vec<u8>) {
    let mut writer = Writer { out, value: Vec::with_capacity(64) };
    writer.push(r#"{"response":{"header":{"resultCode":"000","resultMsg":"#);
    writer.push(&json_text(&format!("OK{}", page.note)));
    writer.push(r#"},"body":{"items":"#);
    match page.deals.as_slice() {
        [] => writer.push(r#""""#),
        [deal] => {
            writer.push(r#"{"item":"#);
            writer.json_row(page, deal);
            writer.push("}");
        }
        deals => {
            writer.push(r#"{"item":["#);
            for (position, deal) in deals.iter().enumerate() {
                if position > 0 {
                    writer.push(",");
                }
                writer.json_row(page, deal);
            }
            writer.push("]}");
        }
    }
    writer.push(r#","numOfRows":"#);
    writer.number(page.size);
    writer.push(r#","pageNo":"#);
    writer.number(page.number);
    match &page.total {
        Total::Count(total) => {
            writer.push(r#","totalCount":"#);
            writer.number(*total);
        }
        Total::Text(text) => writer.push(&format!(r#","totalCount":{}"#, json_text(text))),
        Total::Missing => {}
    }
    writer.push("}}}");
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// One value at a time: only when it is there is it known whether JSON quotes it.
    value: Vec<u8>,
}

impl Writer<'_> {
    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        push_number(self.out, number, 1);
    }

    fn xml_row(&mut self, page: &Page, deal: &Deal) {
        self.push("<item>");
        for field in page.service.fields() {
            self.push("<");
            self.push(field.name);
            self.push(">");
            self.value.clear();
            deal.write(field.kind, &mut self.value);
            // Of the characters XML reserves, the words of the portal know only this one.
            let mut rest = self.value.as_slice();
            while let Some(at) = memchr::memchr(b'&', rest) {
                self.out.extend_from_slice(&rest[..at]);
                self.out.extend_from_slice(b"&amp;");
                rest = &rest[at + 1..];
            }
            self.out.extend_from_slice(rest);
            self.push("</");
            self.push(field.name);
            self.push(">");
        }
        self.push("</item>");
    }

    fn json_row(&mut self, page: &Page, deal: &Deal) {
        let mut before = "{\"";
        for field in page.service.fields() {
            self.push(before);
            self.push(field.name);
            self.value.clear();
            match deal.write(field.kind, &mut self.value) {
                Notation::Number => {
                    self.push("\":");
                    self.out.extend_from_slice(&self.value);
                    before = ",\"";
                }
                Notation::Text => {
                    self.push("\":\"");
                    self.out.extend_from_slice(&self.value);
                    before = "\",\"";
                }
            }
        }
        self.push(if before == ",\"" { "}" } else { "\"}" });
    }
}

pub(super) fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A text as JSON writes it, quotes included.
pub(super) fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
