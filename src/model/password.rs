use std::borrow::Cow;

/// What stands in the place of a password.
const HIDDEN: &str = "***";

/// A text with the passwords of all URLs in it hidden, legal URLs or not: `postgres://me:***@host/db?password=***`.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        hidden.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`')).unwrap_or(after.len());
        let (url, behind) = after.split_at(end);
        hidden.push_str(&without_password(url));
        rest = behind;
    }
    hidden.push_str(rest);
    Cow::Owned(hidden)
}

/// What follows `://` of one URL. A password may hold any sign that its writer forgot to encode, so that the last `@` counts.
fn without_password(url: &str) -> String {
    let (address, options) =
        url.split_once('?').filter(|(address, _)| address.contains('@') || !url.contains('@')).unwrap_or((url, ""));
    let address = match address.rsplit_once('@') {
        Some((login, host)) => match login.split_once(':') {
            Some((user, _)) => format!("{user}:{HIDDEN}@{host}"),
            None => address.to_owned(),
        },
        None => address.to_owned(),
    };
    let options: Vec<String> = options
        .split('&')
        .map(|option| match option.split_once('=') {
            Some((name, _)) if name.to_ascii_lowercase().contains("pass") => format!("{name}={HIDDEN}"),
            Some(_) | None => option.to_owned(),
        })
        .collect();
    if options == [""] { address } else { format!("{address}?{}", options.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_wherever_a_url_may_hold_one() {
        let check = |text: &str, expected: &str| assert_eq!(without_passwords(text), expected);
        check("postgres://me:secret@host/db", "postgres://me:***@host/db");
        check("postgres://me:se/cr?e@t@host/db", "postgres://me:***@host/db");
        check("postgres://host/db?password=secret&sslmode=require", "postgres://host/db?password=***&sslmode=require");
        check("postgres://me@host/db?passwort=secret", "postgres://me@host/db?passwort=***");
        check("url = \"postgres://me:secret@host/db\" # mine", "url = \"postgres://me:***@host/db\" # mine");
        check("a://x:secret@h b://y:secret@h", "a://x:***@h b://y:***@h");
        check("postgres://me@host:5433/db", "postgres://me@host:5433/db");
        check("sqlite://gapless.db", "sqlite://gapless.db");
        check("http://127.0.0.1:8080/a?b=c", "http://127.0.0.1:8080/a?b=c");
        check("no URL: a@b", "no URL: a@b");
    }
}
