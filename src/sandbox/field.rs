//! The fields of the ministry's rows, with the spelling each service gives them.

/// One field of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub kind: Kind,
}

/// What stands in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    // When and where.
    DealYear,
    DealMonth,
    DealDay,
    RegionCode,
    DistrictName,
    TownName,
    TownCode,
    Lot,
    MaskedLot,
    LotMain,
    LotSub,
    // The building.
    ComplexName,
    OfficeName,
    HouseName,
    ComplexCode,
    Block,
    BuildYear,
    Floor,
    Area,
    LandArea,
    RowHouseType,
    DetachedType,
    BuildingType,
    BuildingUse,
    LandUse,
    LandCategory,
    // The road address.
    RoadName,
    RoadMain,
    RoadSub,
    RoadCode,
    RoadSerial,
    RoadBasement,
    // The deal.
    Amount,
    Buyer,
    Seller,
    Dealing,
    AgentDistrict,
    CancelMark,
    CancelDay,
    RegistrationDay,
    LandCode,
    Leasehold,
    Share,
    Ownership,
    // The lease.
    Deposit,
    MonthlyRent,
    EarlierDeposit,
    EarlierRent,
    ContractTerm,
    ContractType,
    RenewalRight,
}

const fn field(name: &'static str, kind: Kind) -> Field {
    Field { name, kind }
}

pub(super) const APT_DONG: Field = field("aptDong", Kind::Block);
pub(super) const APT_NM: Field = field("aptNm", Kind::ComplexName);
pub(super) const APT_SEQ: Field = field("aptSeq", Kind::ComplexCode);
pub(super) const BONBUN: Field = field("bonbun", Kind::LotMain);
pub(super) const BUBUN: Field = field("bubun", Kind::LotSub);
pub(super) const BUILD_YEAR: Field = field("buildYear", Kind::BuildYear);
pub(super) const BUILDING_AR: Field = field("buildingAr", Kind::Area);
pub(super) const BUILDING_TYPE: Field = field("buildingType", Kind::BuildingType);
pub(super) const BUILDING_USE: Field = field("buildingUse", Kind::BuildingUse);
pub(super) const BUYER_GBN: Field = field("buyerGbn", Kind::Buyer);
pub(super) const CDEAL_DAY: Field = field("cdealDay", Kind::CancelDay);
pub(super) const CDEAL_TYPE: Field = field("cdealType", Kind::CancelMark);
/// The commercial and the factory service spell it so.
pub(super) const CDEALTYPE: Field = field("cdealtype", Kind::CancelMark);
pub(super) const CONTRACT_TERM: Field = field("contractTerm", Kind::ContractTerm);
pub(super) const CONTRACT_TYPE: Field = field("contractType", Kind::ContractType);
pub(super) const DEAL_AMOUNT: Field = field("dealAmount", Kind::Amount);
pub(super) const DEAL_AREA: Field = field("dealArea", Kind::LandArea);
pub(super) const DEAL_DAY: Field = field("dealDay", Kind::DealDay);
pub(super) const DEAL_MONTH: Field = field("dealMonth", Kind::DealMonth);
pub(super) const DEAL_YEAR: Field = field("dealYear", Kind::DealYear);
pub(super) const DEALING_GBN: Field = field("dealingGbn", Kind::Dealing);
pub(super) const DEPOSIT: Field = field("deposit", Kind::Deposit);
pub(super) const ESTATE_AGENT: Field = field("estateAgentSggNm", Kind::AgentDistrict);
pub(super) const EXCLU_USE_AR: Field = field("excluUseAr", Kind::Area);
pub(super) const FLOOR: Field = field("floor", Kind::Floor);
pub(super) const HOUSE_TYPE_ROW: Field = field("houseType", Kind::RowHouseType);
pub(super) const HOUSE_TYPE_DETACHED: Field = field("houseType", Kind::DetachedType);
pub(super) const JIBUN: Field = field("jibun", Kind::Lot);
pub(super) const JIBUN_MASKED: Field = field("jibun", Kind::MaskedLot);
pub(super) const JIMOK: Field = field("jimok", Kind::LandCategory);
pub(super) const LAND_AR: Field = field("landAr", Kind::LandArea);
pub(super) const LAND_CD: Field = field("landCd", Kind::LandCode);
pub(super) const LAND_LEASEHOLD: Field = field("landLeaseholdGbn", Kind::Leasehold);
pub(super) const LAND_USE: Field = field("landUse", Kind::LandUse);
pub(super) const MHOUSE_NM: Field = field("mhouseNm", Kind::HouseName);
pub(super) const MONTHLY_RENT: Field = field("monthlyRent", Kind::MonthlyRent);
pub(super) const OFFI_NM: Field = field("offiNm", Kind::OfficeName);
pub(super) const OWNERSHIP_GBN: Field = field("ownershipGbn", Kind::Ownership);
pub(super) const PLOTTAGE_AR: Field = field("plottageAr", Kind::LandArea);
pub(super) const PRE_DEPOSIT: Field = field("preDeposit", Kind::EarlierDeposit);
pub(super) const PRE_MONTHLY_RENT: Field = field("preMonthlyRent", Kind::EarlierRent);
pub(super) const RGST_DATE: Field = field("rgstDate", Kind::RegistrationDay);
pub(super) const ROAD_NM: Field = field("roadNm", Kind::RoadName);
pub(super) const ROAD_NM_BONBUN: Field = field("roadNmBonbun", Kind::RoadMain);
pub(super) const ROAD_NM_BUBUN: Field = field("roadNmBubun", Kind::RoadSub);
pub(super) const ROAD_NM_CD: Field = field("roadNmCd", Kind::RoadCode);
pub(super) const ROAD_NM_SEQ: Field = field("roadNmSeq", Kind::RoadSerial);
pub(super) const ROAD_NM_SGG_CD: Field = field("roadNmSggCd", Kind::RegionCode);
pub(super) const ROAD_NMB_CD: Field = field("roadNmbCd", Kind::RoadBasement);
// The apartment rent service spells its road address in lower case.
pub(super) const ROADNM: Field = field("roadnm", Kind::RoadName);
pub(super) const ROADNMBCD: Field = field("roadnmbcd", Kind::RoadBasement);
pub(super) const ROADNMBONBUN: Field = field("roadnmbonbun", Kind::RoadMain);
pub(super) const ROADNMBUBUN: Field = field("roadnmbubun", Kind::RoadSub);
pub(super) const ROADNMCD: Field = field("roadnmcd", Kind::RoadCode);
pub(super) const ROADNMSEQ: Field = field("roadnmseq", Kind::RoadSerial);
pub(super) const ROADNMSGGCD: Field = field("roadnmsggcd", Kind::RegionCode);
pub(super) const SGG_CD: Field = field("sggCd", Kind::RegionCode);
pub(super) const SGG_NM: Field = field("sggNm", Kind::DistrictName);
pub(super) const SHARE_DEALING: Field = field("shareDealingType", Kind::Share);
pub(super) const SLER_GBN: Field = field("slerGbn", Kind::Seller);
pub(super) const TOTAL_FLOOR_AR: Field = field("totalFloorAr", Kind::Area);
pub(super) const UMD_CD: Field = field("umdCd", Kind::TownCode);
pub(super) const UMD_NM: Field = field("umdNm", Kind::TownName);
pub(super) const USE_RR_RIGHT: Field = field("useRRRight", Kind::RenewalRight);
