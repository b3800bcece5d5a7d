use super::digits::{push_decimal, push_grouped, push_number};
use super::field::Kind;
use super::spread::mix;
use super::words::*;
use crate::model::month::Month;

/// One row, before any format: everything in it follows from these three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deal {
    pub region: u32,
    pub month: Month,
    pub seed: u64,
}

/// How JSON shows a value; XML makes no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    Number,
    Text,
}

/// What the portal writes for "nothing".
const BLANK: &str = " ";

impl Deal {
    /// Appends the value of one field.
    ///
    /// Mixed as in the real services: amounts are texts with commas and at times leading blanks, a plain lot is a number
    /// in JSON and a lot with a sub-number is not, an area is `60` or `84.93`, and nothing is one blank.
    pub fn write(&self, kind: Kind, out: &mut Vec<u8>) -> Notation {
        let hash = mix(self.seed, kind as u64);
        match kind {
            Kind::DealYear => number(out, self.month.year().into()),
            Kind::DealMonth => number(out, self.month.number().into()),
            Kind::DealDay => number(out, self.day()),
            Kind::RegionCode => number(out, self.region.into()),
            Kind::DistrictName => one_of(out, &DISTRICTS, u64::from(self.region)),
            Kind::TownName => one_of(out, &TOWNS, self.place()),
            Kind::TownCode => number(out, 10_100 + self.place() % TOWNS.len() as u64 * 100),
            Kind::Lot => self.write_lot(out),
            Kind::MaskedLot => {
                push_number(out, 1 + self.lot().0 % 9, 1);
                text(out, "**")
            }
            Kind::LotMain => padded(out, self.lot().0, 4),
            Kind::LotSub => padded(out, self.lot().1, 4),
            Kind::ComplexName => one_of(out, &COMPLEXES, self.place()),
            Kind::OfficeName => one_of(out, &OFFICES, self.place()),
            Kind::HouseName => one_of(out, &HOUSES, self.place()),
            Kind::ComplexCode => {
                push_number(out, self.region.into(), 5);
                out.push(b'-');
                push_number(out, 1 + self.place() % 4_000, 1);
                Notation::Text
            }
            Kind::Block if hash.is_multiple_of(3) => text(out, BLANK),
            Kind::Block => {
                push_number(out, 101 + hash % 20, 1);
                text(out, "동")
            }
            Kind::BuildYear => number(out, u64::from(self.month.year()) - self.place() % 35),
            Kind::Floor if hash.is_multiple_of(61) => text_as_number(out, "-1"),
            Kind::Floor => number(out, 1 + hash % 25),
            Kind::Area if hash.is_multiple_of(16) => decimal(out, (20 + hash % 140) * 10_000),
            Kind::Area => decimal(out, 200_000 + hash % 1_400_000),
            Kind::LandArea => decimal(out, 100_000 + hash % 9_000_000),
            Kind::RowHouseType => one_of(out, &ROW_HOUSE_TYPES, hash),
            Kind::DetachedType => one_of(out, &DETACHED_TYPES, hash),
            Kind::BuildingType => one_of(out, &BUILDING_TYPES, hash),
            Kind::BuildingUse => one_of(out, &BUILDING_USES, hash),
            Kind::LandUse => one_of(out, &LAND_USES, hash),
            Kind::LandCategory => one_of(out, &LAND_CATEGORIES, hash),
            Kind::RoadName => one_of(out, &ROADS, self.place()),
            Kind::RoadMain => padded(out, 1 + self.place() % 300, 5),
            Kind::RoadSub => padded(out, 0, 5),
            Kind::RoadCode => number(out, 4_100_000 + self.place() % 1_000),
            Kind::RoadSerial => padded(out, 1, 2),
            Kind::RoadBasement => number(out, 0),
            Kind::Amount => self.write_money(out, 5_000 + hash % 240_000),
            Kind::Buyer | Kind::Seller => one_of(out, &PARTIES, hash),
            Kind::Dealing => one_of(out, &DEALINGS, mix(self.seed, Kind::Dealing as u64)),
            Kind::AgentDistrict if self.is_direct() => text(out, BLANK),
            Kind::AgentDistrict => one_of(out, &AGENT_DISTRICTS, hash),
            Kind::CancelMark => text(out, if self.is_cancelled() { "O" } else { BLANK }),
            Kind::CancelDay if self.is_cancelled() => self.write_later_day(out, 1),
            Kind::CancelDay => text(out, BLANK),
            Kind::RegistrationDay if self.is_cancelled() || hash.is_multiple_of(2) => text(out, BLANK),
            Kind::RegistrationDay => self.write_later_day(out, 2),
            Kind::LandCode => number(out, 1),
            Kind::Leasehold => text(out, if hash.is_multiple_of(200) { "Y" } else { "N" }),
            Kind::Share => text(out, if hash.is_multiple_of(9) { "지분" } else { BLANK }),
            Kind::Ownership => one_of(out, &OWNERSHIPS, hash),
            Kind::Deposit => self.write_money(out, 500 + hash % 90_000),
            Kind::MonthlyRent => self.write_rent(out, self.rent()),
            Kind::EarlierDeposit | Kind::EarlierRent | Kind::RenewalRight if !self.is_renewed() => text(out, BLANK),
            Kind::EarlierDeposit => self.write_money(out, 400 + hash % 80_000),
            Kind::EarlierRent => self.write_rent(out, self.rent() * 9 / 10),
            Kind::RenewalRight => text(out, if hash.is_multiple_of(2) { "사용" } else { BLANK }),
            Kind::ContractTerm => self.write_term(out),
            Kind::ContractType => text(out, if self.is_renewed() { "갱신" } else { "신규" }),
        }
    }

    /// Facts that several fields must tell alike each have a number of their own.
    fn fact(&self, fact: Fact) -> u64 {
        mix(self.seed, 1_000 + fact as u64)
    }

    /// One building stands on one lot in one street; deals share it.
    fn place(&self) -> u64 {
        self.fact(Fact::Place) % 20_000
    }

    fn day(&self) -> u64 {
        1 + self.fact(Fact::Day) % 28
    }

    fn lot(&self) -> (u64, u64) {
        let place = self.place();
        (1 + place % 1_500, if place.is_multiple_of(4) { place % 90 } else { 0 })
    }

    /// About one in forty, as the real sales have it.
    fn is_cancelled(&self) -> bool {
        self.fact(Fact::Cancelled).is_multiple_of(40)
    }

    fn is_direct(&self) -> bool {
        DEALINGS[(mix(self.seed, Kind::Dealing as u64) % DEALINGS.len() as u64) as usize] == "직거래"
    }

    fn is_renewed(&self) -> bool {
        self.fact(Fact::Renewed).is_multiple_of(3)
    }

    /// In units of 10,000 won; most leases have none.
    fn rent(&self) -> u64 {
        let hash = self.fact(Fact::Rent);
        if hash.is_multiple_of(3) { 10 + hash % 1_900 } else { 0 }
    }

    fn write_lot(&self, out: &mut Vec<u8>) -> Notation {
        let (main, sub) = self.lot();
        push_number(out, main, 1);
        if sub == 0 {
            return Notation::Number;
        }
        out.push(b'-');
        push_number(out, sub, 1);
        Notation::Text
    }

    fn write_money(&self, out: &mut Vec<u8>, amount: u64) -> Notation {
        if self.fact(Fact::Padding).is_multiple_of(5) {
            out.extend_from_slice(b"   ");
        }
        push_grouped(out, amount);
        Notation::Text
    }

    /// A rent below a thousand has no comma, and JSON makes it a number.
    fn write_rent(&self, out: &mut Vec<u8>, amount: u64) -> Notation {
        push_grouped(out, amount);
        if amount < 1_000 { Notation::Number } else { Notation::Text }
    }

    /// `26.07.13`, some months after the deal.
    fn write_later_day(&self, out: &mut Vec<u8>, months: u32) -> Notation {
        let later = (0..months).fold(self.month, |month, _| month.next());
        push_number(out, u64::from(later.year() % 100), 2);
        out.push(b'.');
        push_number(out, later.number().into(), 2);
        out.push(b'.');
        push_number(out, 29 - self.day(), 2);
        Notation::Text
    }

    /// `24.03~26.03`.
    fn write_term(&self, out: &mut Vec<u8>) -> Notation {
        let year = u64::from(self.month.year());
        for (position, year) in [year, year + 2].into_iter().enumerate() {
            if position == 1 {
                out.push(b'~');
            }
            push_number(out, year % 100, 2);
            out.push(b'.');
            push_number(out, self.month.number().into(), 2);
        }
        Notation::Text
    }
}

#[derive(Clone, Copy)]
enum Fact {
    Place,
    Day,
    Cancelled,
    Renewed,
    Rent,
    Padding,
}

fn number(out: &mut Vec<u8>, number: u64) -> Notation {
    push_number(out, number, 1);
    Notation::Number
}

fn decimal(out: &mut Vec<u8>, ten_thousandths: u64) -> Notation {
    push_decimal(out, ten_thousandths);
    Notation::Number
}

fn padded(out: &mut Vec<u8>, number: u64, width: usize) -> Notation {
    push_number(out, number, width);
    Notation::Text
}

fn text(out: &mut Vec<u8>, text: &str) -> Notation {
    out.extend_from_slice(text.as_bytes());
    Notation::Text
}

fn text_as_number(out: &mut Vec<u8>, digits: &str) -> Notation {
    text(out, digits);
    Notation::Number
}

fn one_of(out: &mut Vec<u8>, words: &[&str], hash: u64) -> Notation {
    text(out, words[(hash % words.len() as u64) as usize])
}
