-- What became of the breaker of an API, line by line; the last line of an API is the state it was left in.
create table breaker_change (
    id         integer primary key,
    run        integer not null references run (id),
    dataset    text not null,
    key_id     text not null,
    changed_at text not null,
    state      text not null check (state in ('closed', 'open', 'half_open')),
    -- Of one that opened: when the first calls are let through again.
    open_until text,
    -- How often in a row it opened.
    openings   integer not null,
    why        text not null
) strict;

create index breaker_change_api on breaker_change (dataset, key_id, id);
