use super::content::Content;
use super::deal::Deal;
use super::render::Format;
use super::request::Request;
use super::scenario::Scenario;
use super::service::Service;
use super::sheet::Sheet;
use crate::model::month::Month;

/// What a request asks one service for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub service: Service,
    /// As sent, whatever it is.
    pub region: Box<str>,
    /// `None` when what was sent is no month: the services answer that with no rows, not with an error.
    pub month: Option<Month>,
    pub page: u64,
    pub size: u64,
    pub format: Format,
}

/// A page to be rendered.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub service: Service,
    pub deals: Vec<Deal>,
    pub total: Total,
    /// `pageNo` and `numOfRows` as echoed.
    pub number: u64,
    pub size: u64,
    /// Appended to the result message.
    pub note: String,
}

#[derive(Clone, Debug)]
pub(super) enum Total {
    Count(u64),
    Text(String),
    Missing,
}

impl Asked {
    /// Reads the parameters; their names are case-sensitive, and what is missing or unreadable takes its default.
    pub fn of(service: Service, request: &Request) -> Self {
        let value = |name: &str| request.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let count = |name: &str, default: u64| value(name).and_then(|text| text.parse().ok()).unwrap_or(default);
        Self {
            service,
            region: value("LAWD_CD").unwrap_or_default().into(),
            month: value("DEAL_YMD").and_then(month_of),
            page: count("pageNo", 1).max(1),
            size: count("numOfRows", 10),
            format: Format::of(request),
        }
    }
}

impl Page {
    /// The page asked for, falsified by `content` if there is one.
    pub fn compose(scenario: &Scenario, asked: &Asked, content: Option<&Content>, note: String) -> Self {
        let book = Book { scenario, asked, rows: scenario.size(asked.service, &asked.region, asked.month) };
        let mut page = Self {
            service: asked.service,
            deals: Vec::new(),
            total: Total::Count(book.rows),
            number: asked.page,
            size: asked.size,
            note,
        };
        let off = |number: u64, by: i64| number.saturating_add_signed(by);
        match content {
            None | Some(Content::Broken { .. }) => page.deals = book.page(asked.page),
            Some(Content::TotalOff { by }) => {
                page.deals = book.page(asked.page);
                page.total = Total::Count(off(book.rows, *by));
            }
            Some(Content::TotalIs { text }) => {
                page.deals = book.page(asked.page);
                page.total = text.parse().map_or_else(|_| Total::Text(text.clone()), Total::Count);
            }
            Some(Content::TotalMissing {}) => {
                page.deals = book.page(asked.page);
                page.total = Total::Missing;
            }
            Some(Content::SizeOff { by }) => {
                let book = Book { rows: off(book.rows, *by), ..book };
                page.deals = book.page(asked.page);
                page.total = Total::Count(book.rows);
            }
            Some(Content::RowMissing { at }) => {
                page.deals = book.page(asked.page);
                if *at < page.deals.len() {
                    page.deals.remove(*at);
                }
            }
            Some(Content::NoRows {}) => {}
            Some(Content::SamePage {}) => page.deals = book.page(1),
            Some(Content::AllRows {}) => page.deals = book.rows(0, book.rows),
            Some(Content::Cycle { pages }) => page.deals = book.page((asked.page - 1) % pages.get() + 1),
            Some(Content::LastPageAgain {}) => page.deals = book.page(asked.page.min(book.last_page())),
            Some(Content::Slide { by }) => {
                let start = book.start(asked.page);
                page.deals = book.rows(start.saturating_sub(*by), book.held(asked.page));
            }
            Some(Content::Foreign { region, month, rows }) => {
                page.deals = book.page(asked.page);
                let foreign = Asked {
                    region: region.as_deref().unwrap_or(&asked.region).into(),
                    month: month.or(asked.month),
                    ..asked.clone()
                };
                let count = rows.unwrap_or(page.deals.len()).min(page.deals.len());
                let others = Book { scenario, asked: &foreign, rows: u64::MAX }.rows(0, count as u64);
                page.deals.splice(..count, others);
            }
            Some(Content::PageEcho { number }) => {
                page.deals = book.page(asked.page);
                page.number = *number;
            }
        }
        page
    }
}

/// The pages of one partition at one size.
struct Book<'a> {
    scenario: &'a Scenario,
    asked: &'a Asked,
    rows: u64,
}

impl Book<'_> {
    fn page(&self, number: u64) -> Vec<Deal> {
        self.rows(self.start(number), self.held(number))
    }

    fn page_size(&self) -> u64 {
        self.asked.size.min(self.scenario.page_cap)
    }

    fn start(&self, number: u64) -> u64 {
        (number - 1).saturating_mul(self.page_size()).min(self.rows)
    }

    /// Rows on a page: none past the end.
    fn held(&self, number: u64) -> u64 {
        self.page_size().min(self.rows - self.start(number))
    }

    fn last_page(&self) -> u64 {
        self.rows.div_ceil(self.page_size().max(1)).max(1)
    }

    fn rows(&self, start: u64, count: u64) -> Vec<Deal> {
        let Some(month) = self.asked.month else { return Vec::new() };
        let Scenario { seed, twins, .. } = self.scenario;
        Sheet::new(*seed, self.asked.service, &self.asked.region, month, *twins).deals(start..start + count)
    }
}

/// `202403`, all digits; anything else is no month.
fn month_of(text: &str) -> Option<Month> {
    let is_shape = text.len() == 6 && text.bytes().all(|b| b.is_ascii_digit());
    is_shape.then(|| Month::new(text[..4].parse().ok()?, text[4..].parse().ok()?)).flatten()
}
