use std::fmt;

use serde::{Deserialize, Serialize};

use super::field::*;
use crate::model::month::Month;

/// One of the ministry's thirteen real-transaction services.
///
/// Source: portal pages 15126463 to 15126474; field names as in the services' technical documents of 2024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Service {
    AptTrade,
    AptTradeDev,
    AptRent,
    OffiTrade,
    OffiRent,
    RowHouseTrade,
    RowHouseRent,
    DetachedTrade,
    DetachedRent,
    LandTrade,
    CommercialTrade,
    FactoryTrade,
    PresaleTrade,
}

/// Why a text names no [`Service`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a service of the practice portal: write it as `RTMSDataSvcAptTrade`")]
pub struct UnknownService {
    name: String,
}

impl Service {
    pub const ALL: [Self; 13] = [
        Self::AptTrade,
        Self::AptTradeDev,
        Self::AptRent,
        Self::OffiTrade,
        Self::OffiRent,
        Self::RowHouseTrade,
        Self::RowHouseRent,
        Self::DetachedTrade,
        Self::DetachedRent,
        Self::LandTrade,
        Self::CommercialTrade,
        Self::FactoryTrade,
        Self::PresaleTrade,
    ];

    /// As the portal spells it: `RTMSDataSvcAptTrade`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AptTrade => "RTMSDataSvcAptTrade",
            Self::AptTradeDev => "RTMSDataSvcAptTradeDev",
            Self::AptRent => "RTMSDataSvcAptRent",
            Self::OffiTrade => "RTMSDataSvcOffiTrade",
            Self::OffiRent => "RTMSDataSvcOffiRent",
            Self::RowHouseTrade => "RTMSDataSvcRHTrade",
            Self::RowHouseRent => "RTMSDataSvcRHRent",
            Self::DetachedTrade => "RTMSDataSvcSHTrade",
            Self::DetachedRent => "RTMSDataSvcSHRent",
            Self::LandTrade => "RTMSDataSvcLandTrade",
            Self::CommercialTrade => "RTMSDataSvcNrgTrade",
            Self::FactoryTrade => "RTMSDataSvcInduTrade",
            Self::PresaleTrade => "RTMSDataSvcSilvTrade",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.name() == name)
    }

    /// Path of its one operation: `/1613000/RTMSDataSvcAptTrade/getRTMSDataSvcAptTrade`.
    pub fn path(self) -> String {
        format!("{AGENCY}{name}/get{name}", name = self.name())
    }

    pub fn at_path(path: &str) -> Option<Self> {
        let (name, operation) = path.strip_prefix(AGENCY)?.split_once('/')?;
        Self::from_name(name).filter(|_| operation.strip_prefix("get") == Some(name))
    }

    /// The first month with rows: sales from 2006-01, rents from 2011-01.
    pub fn first_month(self) -> Month {
        let year = match self {
            Self::AptRent | Self::OffiRent | Self::RowHouseRent | Self::DetachedRent => 2011,
            Self::AptTrade
            | Self::AptTradeDev
            | Self::OffiTrade
            | Self::RowHouseTrade
            | Self::DetachedTrade
            | Self::LandTrade
            | Self::CommercialTrade
            | Self::FactoryTrade
            | Self::PresaleTrade => 2006,
        };
        Month::new(year, 1).expect("both years are within a month's years")
    }

    /// Names of its fields, in the order of its rows.
    pub fn field_names(self) -> impl Iterator<Item = &'static str> {
        self.fields().iter().map(|field| field.name)
    }

    pub(super) fn fields(self) -> &'static [Field] {
        match self {
            Self::AptTrade => APT_TRADE,
            Self::AptTradeDev => APT_TRADE_DEV,
            Self::AptRent => APT_RENT,
            Self::OffiTrade => OFFI_TRADE,
            Self::OffiRent => OFFI_RENT,
            Self::RowHouseTrade => ROW_HOUSE_TRADE,
            Self::RowHouseRent => ROW_HOUSE_RENT,
            Self::DetachedTrade => DETACHED_TRADE,
            Self::DetachedRent => DETACHED_RENT,
            Self::LandTrade => LAND_TRADE,
            Self::CommercialTrade | Self::FactoryTrade => COMMERCIAL_TRADE,
            Self::PresaleTrade => PRESALE_TRADE,
        }
    }
}

const AGENCY: &str = "/1613000/";

#[rustfmt::skip]
const APT_TRADE: &[Field] = &[
    APT_DONG, APT_NM, BUILD_YEAR, BUYER_GBN, CDEAL_DAY, CDEAL_TYPE, DEAL_AMOUNT, DEAL_DAY, DEAL_MONTH, DEAL_YEAR, DEALING_GBN,
    ESTATE_AGENT, EXCLU_USE_AR, FLOOR, JIBUN, LAND_LEASEHOLD, RGST_DATE, SGG_CD, SLER_GBN, UMD_NM,
];
#[rustfmt::skip]
const APT_TRADE_DEV: &[Field] = &[
    APT_DONG, APT_NM, APT_SEQ, BONBUN, BUBUN, BUILD_YEAR, BUYER_GBN, CDEAL_DAY, CDEAL_TYPE, DEAL_AMOUNT, DEAL_DAY, DEAL_MONTH,
    DEAL_YEAR, DEALING_GBN, ESTATE_AGENT, EXCLU_USE_AR, FLOOR, JIBUN, LAND_CD, LAND_LEASEHOLD, RGST_DATE, ROAD_NM,
    ROAD_NM_BONBUN, ROAD_NM_BUBUN, ROAD_NM_CD, ROAD_NM_SEQ, ROAD_NM_SGG_CD, ROAD_NMB_CD, SGG_CD, SLER_GBN, UMD_CD, UMD_NM,
];
#[rustfmt::skip]
const APT_RENT: &[Field] = &[
    APT_NM, APT_SEQ, BUILD_YEAR, CONTRACT_TERM, CONTRACT_TYPE, DEAL_DAY, DEAL_MONTH, DEAL_YEAR, DEPOSIT, EXCLU_USE_AR, FLOOR,
    JIBUN, MONTHLY_RENT, PRE_DEPOSIT, PRE_MONTHLY_RENT, ROADNM, ROADNMBCD, ROADNMBONBUN, ROADNMBUBUN, ROADNMCD, ROADNMSEQ,
    ROADNMSGGCD, SGG_CD, UMD_NM, USE_RR_RIGHT,
];
#[rustfmt::skip]
const OFFI_TRADE: &[Field] = &[
    BUILD_YEAR, BUYER_GBN, CDEAL_DAY, CDEAL_TYPE, DEAL_AMOUNT, DEAL_DAY, DEAL_MONTH, DEAL_YEAR, DEALING_GBN, ESTATE_AGENT,
    EXCLU_USE_AR, FLOOR, JIBUN, OFFI_NM, SGG_CD, SGG_NM, SLER_GBN, UMD_NM,
];
#[rustfmt::skip]
const OFFI_RENT: &[Field] = &[
    BUILD_YEAR, CONTRACT_TERM, CONTRACT_TYPE, DEAL_DAY, DEAL_MONTH, DEAL_YEAR, DEPOSIT, EXCLU_USE_AR, FLOOR, JIBUN,
    MONTHLY_RENT, OFFI_NM, PRE_DEPOSIT, PRE_MONTHLY_RENT, SGG_CD, SGG_NM, UMD_NM, USE_RR_RIGHT,
];
#[rustfmt::skip]
const ROW_HOUSE_TRADE: &[Field] = &[
    BUILD_YEAR, BUYER_GBN, CDEAL_DAY, CDEAL_TYPE, DEAL_AMOUNT, DEAL_DAY, DEAL_MONTH, DEAL_YEAR, DEALING_GBN, ESTATE_AGENT,
    EXCLU_USE_AR, FLOOR, HOUSE_TYPE_ROW, JIBUN, LAND_AR, MHOUSE_NM, RGST_DATE, SGG_CD, SLER_GBN, UMD_NM,
];
#[rustfmt::skip]
const ROW_HOUSE_RENT: &[Field] = &[
    BUILD_YEAR, CONTRACT_TERM, CONTRACT_TYPE, DEAL_DAY, DEAL_MONTH, DEAL_YEAR, DEPOSIT, EXCLU_USE_AR, FLOOR, HOUSE_TYPE_ROW,
    JIBUN, MHOUSE_NM, MONTHLY_RENT, PRE_DEPOSIT, PRE_MONTHLY_RENT, SGG_CD, UMD_NM, USE_RR_RIGHT,
];
#[rustfmt::skip]
const DETACHED_TRADE: &[Field] = &[
    BUILD_YEAR, BUYER_GBN, CDEAL_DAY, CDEAL_TYPE, DEAL_AMOUNT, DEAL_DAY, DEAL_MONTH, DEAL_YEAR, DEALING_GBN, ESTATE_AGENT,
    HOUSE_TYPE_DETACHED, JIBUN_MASKED, PLOTTAGE_AR, SGG_CD, SLER_GBN, TOTAL_FLOOR_AR, UMD_NM,
];
#[rustfmt::skip]
const DETACHED_RENT: &[Field] = &[
    BUILD_YEAR, CONTRACT_TERM, CONTRACT_TYPE, DEAL_DAY, DEAL_MONTH, DEAL_YEAR, DEPOSIT, HOUSE_TYPE_DETACHED, MONTHLY_RENT,
    PRE_DEPOSIT, PRE_MONTHLY_RENT, SGG_CD, TOTAL_FLOOR_AR, UMD_NM, USE_RR_RIGHT,
];
#[rustfmt::skip]
const LAND_TRADE: &[Field] = &[
    CDEAL_DAY, CDEAL_TYPE, DEAL_AMOUNT, DEAL_AREA, DEAL_DAY, DEAL_MONTH, DEAL_YEAR, DEALING_GBN, ESTATE_AGENT, JIBUN_MASKED,
    JIMOK, LAND_USE, SGG_CD, SGG_NM, SHARE_DEALING, UMD_NM,
];
#[rustfmt::skip]
const COMMERCIAL_TRADE: &[Field] = &[
    BUILD_YEAR, BUILDING_AR, BUILDING_TYPE, BUILDING_USE, BUYER_GBN, CDEAL_DAY, CDEALTYPE, DEAL_AMOUNT, DEAL_DAY, DEAL_MONTH,
    DEAL_YEAR, DEALING_GBN, ESTATE_AGENT, FLOOR, JIBUN_MASKED, LAND_USE, PLOTTAGE_AR, SGG_CD, SGG_NM, SHARE_DEALING, SLER_GBN,
    UMD_NM,
];
#[rustfmt::skip]
const PRESALE_TRADE: &[Field] = &[
    APT_NM, BUYER_GBN, CDEAL_DAY, CDEAL_TYPE, DEAL_AMOUNT, DEAL_DAY, DEAL_MONTH, DEAL_YEAR, DEALING_GBN, ESTATE_AGENT,
    EXCLU_USE_AR, FLOOR, JIBUN, OWNERSHIP_GBN, SGG_CD, SGG_NM, SLER_GBN, UMD_NM,
];

impl TryFrom<String> for Service {
    type Error = UnknownService;

    fn try_from(name: String) -> Result<Self, UnknownService> {
        Self::from_name(&name).ok_or(UnknownService { name })
    }
}

impl From<Service> for String {
    fn from(service: Service) -> Self {
        service.name().to_owned()
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
