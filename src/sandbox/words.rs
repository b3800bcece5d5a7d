//! Names to make rows of. Invented mixtures of common ones; none stands for a real deal.

#[rustfmt::skip]
pub(super) const COMPLEXES: [&str; 24] = [
    "한빛마을", "푸른솔아파트", "래온1차", "래온2차", "강변타운", "은하수(3단지)", "늘봄파크", "해오름", "두레마을7단지", "새벽별",
    "e-고운세상", "S&K타워", "중앙하이츠", "무지개(101~105동)", "신세계빌리지", "현암", "동산(482-0)", "가온누리", "솔빛채",
    "미리내마을", "서광프리미어", "한마음", "목화", "초원그린",
];
pub(super) const OFFICES: [&str; 8] =
    ["시티스퀘어", "역전오피스텔", "비즈타워 2", "트윈하우스", "더원", "골든파크", "한강르네상스", "센트럴101"];
#[rustfmt::skip]
pub(super) const HOUSES: [&str; 10] =
    ["동아빌라", "삼호연립", "청솔빌", "(12-3)", "하늘채", "우성주택", "행복빌라B동", "그린맨션", "장미빌라", "대성하이빌"];
#[rustfmt::skip]
pub(super) const TOWNS: [&str; 20] = [
    "숭인동", "반포동", "사직동", "청운동", "역삼동", "명륜1가", "창신동", "부암동", "평창동", "가회동", "진위면 견산리", "송악읍 기지시리",
    "우동", "좌동", "만덕동", "구월동", "산곡동", "봉선동", "둔산동", "삼산동",
];
#[rustfmt::skip]
pub(super) const DISTRICTS: [&str; 12] =
    ["중구", "동구", "서구", "남구", "북구", "종로구", "성북구", "강서구", "해운대구", "양천구", "성동구", "달서구"];
#[rustfmt::skip]
pub(super) const AGENT_DISTRICTS: [&str; 10] = [
    "서울 성북구", "서울 종로구", "서울 강남구", "부산 해운대구", "경기 성남분당구", "인천 남동구", "대구 수성구", "서울 마포구, 서울 종로구",
    "대전 서구", "경기 용인수지구",
];
#[rustfmt::skip]
pub(super) const ROADS: [&str; 12] = [
    "숭인동길", "자하문로", "율곡로", "창경궁로16길", "평창문화로", "지봉로", "동호로", "테헤란로", "센텀중앙로", "광안해변로", "달구벌대로", "둔산로",
];
pub(super) const PARTIES: [&str; 5] = ["개인", "개인", "개인", "법인", "공공기관"];
pub(super) const DEALINGS: [&str; 4] = ["중개거래", "중개거래", "중개거래", "직거래"];
pub(super) const ROW_HOUSE_TYPES: [&str; 2] = ["연립", "다세대"];
pub(super) const DETACHED_TYPES: [&str; 2] = ["단독", "다가구"];
pub(super) const BUILDING_TYPES: [&str; 2] = ["집합", "일반"];
pub(super) const BUILDING_USES: [&str; 6] = ["제1종근린생활", "제2종근린생활", "업무", "판매", "공장", "창고"];
pub(super) const LAND_USES: [&str; 6] = ["제1종일반주거", "제2종일반주거", "일반상업", "준공업", "자연녹지", "계획관리"];
pub(super) const LAND_CATEGORIES: [&str; 6] = ["대", "전", "답", "임야", "잡종지", "도로"];
pub(super) const OWNERSHIPS: [&str; 2] = ["분", "입"];
