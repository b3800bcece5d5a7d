//! What belongs to the store itself.

use super::SqliteStore;
use crate::store::error::StoreError;

const SALT: &str = "select value from meta where name = 'salt'";

impl SqliteStore {
    pub async fn salt(&self) -> Result<[u8; 32], StoreError> {
        let salt: Result<Vec<u8>, _> = sqlx::query_scalar(SALT).fetch_one(&self.readers).await;
        salt.and_then(|salt| salt.try_into().map_err(|_| sqlx::Error::Decode("a salt of another length".into())))
            .map_err(|source| self.failed(source))
    }
}
