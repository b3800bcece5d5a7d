//! Region lists.

use jiff::Timestamp;

use super::reforms;
use crate::definition::region::RegionList;
use crate::store::error::StoreError;
use crate::store::param::params;
use crate::store::tx::Tx;

const DROP_REGIONS: &str = "delete from region where list = ?1";
const NEW_REGION: &str =
    "insert into region (list, code, name, valid_from, valid_to, kind, successors) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const DROP_REFORMS: &str = "delete from reform where list = ?1";
const NEW_REFORM: &str = "insert into reform (list, code, reform, side, day) values (?1, ?2, ?3, ?4, ?5)";

/// Puts the regions of a list in place of those that were there of it.
pub fn declare(tx: &Tx<'_>, list: &RegionList, now: Timestamp) -> Result<(), StoreError> {
    declare_codes(tx, list)?;
    declare_reforms(tx, list)?;
    reforms::catch_up(tx, &list.id, now)
}

fn declare_codes(tx: &Tx<'_>, list: &RegionList) -> Result<(), StoreError> {
    tx.change(DROP_REGIONS, params![list.id.as_str()])?;
    for region in list.iter() {
        let successors = (!region.successors.is_empty()).then(|| region.successors.join(","));
        let line = params![
            list.id.as_str(),
            region.code.as_str(),
            region.names.join(" "),
            region.valid_from.as_deref(),
            region.valid_to.as_deref(),
            region.kind.as_str(),
            successors
        ];
        tx.change(NEW_REGION, line)?;
    }
    Ok(())
}

fn declare_reforms(tx: &Tx<'_>, list: &RegionList) -> Result<(), StoreError> {
    tx.change(DROP_REFORMS, params![list.id.as_str()])?;
    for reform in list.reforms() {
        let (name, day) = (&reform.retired[0], reform.day.map(|day| day.to_string()));
        let retired = reform.retired.iter().map(|code| (code, "retired"));
        for (code, side) in retired.chain(reform.successors.iter().map(|code| (code, "successor"))) {
            tx.change(NEW_REFORM, params![list.id.as_str(), code.as_str(), name.as_str(), side, day.as_deref()])?;
        }
    }
    Ok(())
}
