//! The definitions compiled into the program.

use super::catalog::{DefinitionFile, DefinitionKind};

/// Every shipped definition, under the path it has in the source tree.
pub fn files() -> Vec<DefinitionFile> {
    FILES.iter().map(|(kind, path, text)| DefinitionFile { path: path.into(), text: (*text).to_owned(), kind: *kind }).collect()
}

macro_rules! shipped {
    ($($kind:ident $path:literal)*) => {
        &[$((DefinitionKind::$kind, $path, include_str!(concat!("../../", $path)))),*]
    };
}

const FILES: &[(DefinitionKind, &str, &str)] = shipped![
    Dialect "config/dialects/data_go_kr.toml"
    Provider "config/providers/data_go_kr.toml"
    Regions "config/regions/lawd_cd.csv"
    Dataset "config/datasets/apt_rent.toml"
    Dataset "config/datasets/apt_trade.toml"
    Dataset "config/datasets/apt_trade_dev.toml"
    Dataset "config/datasets/indu_trade.toml"
    Dataset "config/datasets/land_trade.toml"
    Dataset "config/datasets/nrg_trade.toml"
    Dataset "config/datasets/offi_rent.toml"
    Dataset "config/datasets/offi_trade.toml"
    Dataset "config/datasets/rh_rent.toml"
    Dataset "config/datasets/rh_trade.toml"
    Dataset "config/datasets/sh_rent.toml"
    Dataset "config/datasets/sh_trade.toml"
    Dataset "config/datasets/silv_trade.toml"
];
