-- What became of the breaker of an API, line by line; the last line of an API is the state it was left in.
create table breaker_change (
    id         bigint generated always as identity primary key,
    run        bigint not null references run (id),
    dataset    text collate "C" not null,
    key_id     text collate "C" not null,
    changed_at text collate "C" not null,
    state      text collate "C" not null check (state in ('closed', 'open', 'half_open')),
    -- Of one that opened: when the first calls are let through again.
    open_until text collate "C",
    -- How often in a row it opened.
    openings   bigint not null,
    why        text collate "C" not null
);

create index breaker_change_api on breaker_change (dataset, key_id, id);
