//! What the tables of a dataset mean, where people with other programs look for it.

use super::session::comment;
use crate::model::name::Name;
use crate::store::layout::{Layout, LayoutColumn};

/// Who may do what with a view, as statements that grant it again.
pub const GRANTS: &str = "select format('grant %s on %s to %s%s; ', a.privilege_type, ?1,
        case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end,
        case when a.is_grantable and a.grantee <> c.relowner then ' with grant option' else '' end)
    from pg_catalog.pg_class c cross join lateral aclexplode(c.relacl) a
    where c.oid = to_regclass(?1)";

/// Comments on the view, the table and their columns.
pub fn comments(layout: &Layout) -> String {
    let id = &layout.id;
    let mut sql = comment(&format!("view \"{id}\""), &layout.title);
    sql.push_str(&comment(&format!("table \"{id}_rows\""), &format!("{}: rows of every snapshot that is kept", layout.title)));
    for column in &layout.columns {
        let text = meaning(column);
        for relation in [id.to_string(), format!("{id}_rows")] {
            sql.push_str(&comment(&format!("column \"{relation}\".\"{}\"", column.id), &text));
        }
    }
    sql
}

pub fn grants(layout: &Layout, role: &Name) -> String {
    format!("grant select on \"{id}\", \"{id}_rows\" to \"{role}\"", id = layout.id)
}

/// Its labels, its unit and the field it is read from.
fn meaning(column: &LayoutColumn) -> String {
    let labels: Vec<&str> = [&column.label, &column.label_ko].into_iter().flatten().map(String::as_str).collect();
    let unit = column.unit.as_ref().map(|unit| format!("[{unit}]"));
    let field = format!("(field {})", column.field);
    [labels.join(" / "), unit.unwrap_or_default(), field]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
