use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::answer::{Answer, Reply};
use super::content::Content;
use super::fault::{ConnectionAge, Fault, KeyEcho};
use super::journal::Played;
use super::limiter::Limiter;
use super::page::{Asked, Page};
use super::render::{Format, render};
use super::request::{Key, KeySeen, Request};
use super::scenario::Scenario;
use super::service::Service;
use super::spoil::spoil;
use super::spread::mix;
use super::wire::Wire;
use crate::model::month::Month;
use crate::model::secret::encode_query;

/// Decides what is played for each request. All that a scenario must remember is here.
pub(super) struct Stage {
    scenario: Scenario,
    memory: Mutex<Memory>,
}

/// What is played for one request.
pub(super) struct Play {
    pub played: Played,
    pub wait: Duration,
    pub wire: Option<Wire>,
    speech: Speech,
    note: String,
}

enum Speech {
    Page(Asked, Option<Content>),
    Answer(Answer, Format),
}

#[derive(Default)]
struct Memory {
    limiter: Limiter,
    first_request: Option<Instant>,
    spent: HashMap<Service, u64>,
    /// How often page 1 of a partition was served.
    reads: HashMap<Cell, u32>,
    /// How often a rule has played for a page.
    plays: HashMap<(usize, Cell, u64), u32>,
}

type Cell = (Service, Box<str>, Option<Month>);

impl Stage {
    pub fn new(scenario: Scenario) -> Self {
        Self { scenario, memory: Mutex::default() }
    }

    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What to play. Judged in the gateway's order: is there such a service, is the client too fast, is the key right,
    /// is the day spent; then the faults.
    ///
    /// `number` and `in_flight` are the request's, `now` is the instant it is judged at.
    pub fn choose(&self, request: &Request, number: u64, in_flight: u32, age: ConnectionAge, now: Instant) -> Play {
        let format = Format::of(request);
        let refuse = |played, code: &str| {
            let answer = Answer::Gateway3 { code: code.to_owned(), status: None, retry_after: None };
            Play::refusal(played, answer, format, Duration::ZERO)
        };
        if request.method != "GET" {
            let answer = Answer::Bare { status: 405, retry_after: None };
            return Play::refusal(Played::BadRequest, answer, format, Duration::ZERO);
        }
        let Some(service) = Service::at_path(&request.path) else { return refuse(Played::UnknownPath, "12") };
        let memory = &mut *self.memory.lock().expect("nothing panics while it decides");
        let since_first = now.duration_since(*memory.first_request.get_or_insert(now));
        if let Some(limit) = &self.scenario.limit
            && let Some(played) = memory.limiter.refuses(limit, in_flight, now)
        {
            return Play::refusal(played, limit.answer.clone(), format, Duration::from_millis(limit.wait_ms));
        }
        match (request.key_seen(self.scenario.key.as_deref()), &self.scenario.key) {
            (KeySeen::Right(_), _) | (KeySeen::Absent, None) => {}
            (KeySeen::Absent, Some(_)) => return refuse(Played::WrongKey, "20"),
            (KeySeen::Wrong(_), _) => return refuse(Played::WrongKey, "30"),
        }
        if let Some(quota) = &self.scenario.quota {
            let spent = memory.spent.entry(service).or_default();
            if *spent >= quota.daily_calls {
                return Play::refusal(Played::QuotaSpent, quota.answer.clone(), format, Duration::ZERO);
            }
            *spent += 1;
        }
        self.choose_page(memory, Asked::of(service, request), request.key.as_ref(), age, since_first, number)
    }

    /// The answer to a play; `buffer` is taken over for its body.
    pub fn reply(&self, play: &Play, mut buffer: Vec<u8>, now: Timestamp) -> Reply {
        match &play.speech {
            Speech::Answer(answer, format) => answer.reply(*format, &play.note, now),
            Speech::Page(asked, content) => {
                let page = Page::compose(&self.scenario, asked, content.as_ref(), play.note.clone());
                render(&page, asked.format, &mut buffer);
                if let Some(Content::Broken { how }) = content {
                    spoil(&mut buffer, *how, asked.format);
                }
                let policy = self.scenario.limit.as_ref().and_then(|limit| limit.policy.clone());
                let headers = policy.map(|policy| ("ratelimit-policy", policy)).into_iter().collect();
                Reply { status: 200, content_type: asked.format.content_type(), headers, body: buffer }
            }
        }
    }

    fn choose_page(
        &self,
        memory: &mut Memory,
        asked: Asked,
        key: Option<&Key>,
        age: ConnectionAge,
        since_first: Duration,
        number: u64,
    ) -> Play {
        let latency = Duration::from_millis(self.scenario.latency_ms.pick(mix(self.scenario.seed, number)));
        let cell: Cell = (asked.service, asked.region.clone(), asked.month);
        // Page 1 opens a reading, the pages after it belong to the one that is open.
        let served = memory.reads.get(&cell).copied().unwrap_or(0);
        let opens = asked.page == 1 && asked.size > 0;
        let read = if opens { served + 1 } else { served.max(1) };
        let caught = self.scenario.faults.iter().enumerate().find(|(rule, fault)| {
            fault.catches(&asked, read, age, *rule, since_first) && memory.may_play(*rule, fault, &cell, asked.page)
        });
        if opens && caught.is_none_or(|(_, fault)| fault.serves_page()) {
            memory.reads.insert(cell, read);
        }
        let Some((_, fault)) = caught else {
            let speech = Speech::Page(asked, None);
            return Play { played: Played::Page, wait: latency, wire: None, speech, note: String::new() };
        };
        let wait = fault.wait_ms.map(|wait| Duration::from_millis(wait.pick(mix(self.scenario.seed, number))));
        let note = fault.echo_key.zip(key).map(|(echo, key)| key_note(echo, key)).unwrap_or_default();
        Play {
            played: Played::Fault(fault.to_string()),
            wait: wait.unwrap_or(latency),
            wire: fault.wire.clone(),
            speech: match &fault.answer {
                Some(answer) => Speech::Answer(answer.clone(), asked.format),
                None => Speech::Page(asked, fault.content.clone()),
            },
            note,
        }
    }
}

impl Play {
    fn refusal(played: Played, answer: Answer, format: Format, wait: Duration) -> Self {
        Self { played, wait, wire: None, speech: Speech::Answer(answer, format), note: String::new() }
    }
}

impl Memory {
    /// Whether a rule has not yet played its `times` for this page; if so, this is one of them.
    fn may_play(&mut self, rule: usize, fault: &Fault, cell: &Cell, page: u64) -> bool {
        let Some(times) = fault.times else { return true };
        let plays = self.plays.entry((rule, cell.clone(), page)).or_default();
        let may = *plays < times.get();
        *plays += u32::from(may);
        may
    }
}

fn key_note(echo: KeyEcho, key: &Key) -> String {
    match echo {
        KeyEcho::Decoded => format!(" serviceKey={}", key.decoded),
        KeyEcho::Encoded => format!(" serviceKey={}", encode_query(&key.decoded)),
    }
}
