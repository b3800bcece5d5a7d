-- What the calls of each run came to, by dataset, counted up since it began: a breaker judges by those of all runs that are
-- alive, and holds for all.
create table pace_health (
    provider        text collate "C" not null,
    key_id          text collate "C" not null,
    run             bigint not null references run (id),
    dataset         text collate "C" not null,
    answered        bigint not null,
    failed          bigint not null,
    -- Failures since the last answer.
    failed_in_a_row bigint not null,
    primary key (provider, key_id, run, dataset)
);
