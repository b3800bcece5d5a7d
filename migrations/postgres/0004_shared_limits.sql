-- Limits that all runs with one key keep together: one line for each provider and key.
--
-- Instants are microseconds of the clock of the database, which each host maps to its own.
create table pace (
    provider        text collate "C" not null,
    key_id          text collate "C" not null,
    -- All time before is given away.
    next_us         bigint not null,
    -- What the clock said when that was written: so a clock that was set back is noticed.
    seen_us         bigint not null,
    -- How much was given the last time.
    given_us        bigint not null default 0,
    -- The provider refused for speed: nobody but a single canary asks until one is answered.
    dark_since_us   bigint,
    dark_until_us   bigint,
    dark_why        text collate "C",
    -- A canary is out, and is given up then.
    canary_until_us bigint,
    primary key (provider, key_id)
);

-- What each run takes part in. Of those whose lease is over nothing counts.
create table pace_share (
    provider    text collate "C" not null,
    key_id      text collate "C" not null,
    run         bigint not null references run (id),
    -- The least time between two requests, as this run has it at this moment: the longest holds for all.
    interval_us bigint not null,
    -- Requests in flight over all runs, as the settings of this run have it: the fewest hold for all.
    concurrency bigint not null,
    -- How many of them this run has taken.
    held        bigint not null,
    primary key (provider, key_id, run)
);

-- A run was told to ask no more: those that are at work with the same key obey as well. Later ones try for themselves.
create table stopped_api (
    id       bigint generated always as identity primary key,
    run      bigint not null references run (id),
    provider text collate "C" not null,
    key_id   text collate "C" not null,
    -- None: the whole provider.
    dataset  text collate "C",
    why      text collate "C" not null
);
