//! What is remembered besides partitions and APIs: regions, the salt.

use rusqlite::params;

use super::SqliteStore;
use crate::definition::region::RegionList;
use crate::store::error::StoreError;

const SALT: &str = "select value from meta where name = 'salt'";
const DROP_REGIONS: &str = "delete from region where list = ?1";
const NEW_REGION: &str =
    "insert into region (list, code, name, valid_from, valid_to, kind, successors) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

impl SqliteStore {
    pub async fn salt(&self) -> Result<[u8; 32], StoreError> {
        let salt: Result<Vec<u8>, _> = sqlx::query_scalar(SALT).fetch_one(&self.readers).await;
        salt.and_then(|salt| salt.try_into().map_err(|_| sqlx::Error::Decode("a salt of another length".into())))
            .map_err(|source| self.failed(source))
    }

    pub async fn declare_regions(&self, list: &RegionList) -> Result<(), StoreError> {
        self.write(|tx| {
            tx.execute(DROP_REGIONS, params![list.id.as_str()])?;
            for region in list.iter() {
                let successors = (!region.successors.is_empty()).then(|| region.successors.join(","));
                let line = params![
                    list.id.as_str(),
                    region.code,
                    region.names.join(" "),
                    region.valid_from,
                    region.valid_to,
                    region.kind.as_str(),
                    successors
                ];
                tx.execute(NEW_REGION, line)?;
            }
            Ok(())
        })
        .await
    }
}
