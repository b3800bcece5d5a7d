-- The ledger and the promised views `coverage`, `columns` and `regions`: the same as on SQLite, in the schema of the store.
-- Row tables and their views are made per dataset when it is declared. Instants are RFC 3339 in UTC with milliseconds, and
-- texts are compared byte by byte, so that both engines order them alike.

create table meta (
    name  text collate "C" primary key,
    value bytea not null
);

-- Key ids are digests with this salt, so that a store gives no way to test a guessed key against other stores.
insert into meta (name, value)
select 'salt', decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');

create table dataset (
    id          text collate "C" primary key,
    title       text collate "C" not null,
    -- Ids of the axes in order, joined by commas.
    axes        text collate "C" not null,
    -- The axis that regions are of, and the list they are from.
    region_axis text collate "C",
    region_list text collate "C",
    declared_at text collate "C" not null
);

create table declared_column (
    dataset  text collate "C" not null references dataset (id),
    -- From 1, in the order of declaration: a later column is at the end.
    position bigint not null,
    id       text collate "C" not null,
    field    text collate "C" not null,
    type     text collate "C" not null,
    unit     text collate "C",
    label    text collate "C",
    label_ko text collate "C",
    primary key (dataset, position),
    unique (dataset, id)
);

create table region (
    list       text collate "C" not null,
    code       text collate "C" not null,
    -- From the widest to the narrowest, joined by blanks.
    name       text collate "C" not null,
    valid_from text collate "C",
    -- The first day the code is no longer current.
    valid_to   text collate "C",
    kind       text collate "C" not null check (kind in ('leaf', 'parent', 'retired')),
    -- Codes joined by commas.
    successors text collate "C",
    primary key (list, code)
);

-- Codes that are tied together by a district reform: those that went, and those that hold their rows now.
create table reform (
    list   text collate "C" not null,
    code   text collate "C" not null,
    -- The lowest retired code names the reform.
    reform text collate "C" not null,
    side   text collate "C" not null check (side in ('retired', 'successor')),
    -- The first day on which all successors are current.
    day    text collate "C",
    primary key (list, code)
);

create table run (
    id         bigint generated always as identity primary key,
    command    text collate "C" not null,
    started_at text collate "C" not null,
    ended_at   text collate "C",
    exit_code  bigint,
    version    text collate "C" not null
);

create table partition (
    id            bigint generated always as identity primary key,
    dataset       text collate "C" not null references dataset (id),
    -- `region=11110,month=2024-01`
    key           text collate "C" not null,
    region        text collate "C",
    month         text collate "C",
    -- The snapshot that is visible.
    published_job bigint,
    published_at  text collate "C",
    -- A whole snapshot that becomes visible together with the other successors of its district reform.
    waiting_job   bigint,
    -- The snapshot that left the view when the successors of its district took its place.
    replaced_job  bigint,
    replaced_at   text collate "C",
    checked_at    text collate "C",
    changed_at    text collate "C",
    unique (dataset, key)
);

create unique index partition_published on partition (published_job) where published_job is not null;

create table job (
    id              bigint generated always as identity primary key,
    run             bigint not null references run (id),
    partition       bigint not null references partition (id),
    state           text collate "C" not null check (state in ('pending', 'running', 'ended')),
    verdict         text collate "C",
    why             text collate "C",
    read            bigint not null default 1,
    claims          bigint not null default 1,
    token           text collate "C",
    promised_first  bigint,
    promised_last   bigint,
    received        bigint,
    distinct_rows   bigint,
    definition_hash text collate "C" not null,
    started_at      text collate "C" not null,
    ended_at        text collate "C",
    -- Of a job that was held: the provider's day of its end, and on how many days the same rows were read until then.
    held_on         text collate "C",
    held_days       bigint,
    -- Whether its rows and bodies are still there.
    snapshot        text collate "C" not null default 'kept' check (snapshot in ('kept', 'dropped')),
    check ((state = 'ended') = (verdict is not null))
);

alter table partition
    add foreign key (published_job) references job (id),
    add foreign key (waiting_job) references job (id),
    add foreign key (replaced_job) references job (id);

create index job_run on job (run, verdict);
create index job_partition on job (partition, state, id);
create unique index job_live on job (partition) where state <> 'ended';

-- Snapshots that were held and are published all the same.
create table decision (
    id         bigint generated always as identity primary key,
    partition  bigint not null references partition (id),
    job        bigint not null references job (id),
    decided_at text collate "C" not null,
    who        text collate "C" not null,
    why        text collate "C" not null,
    -- Why it was held.
    held_why   text collate "C"
);

create index decision_partition on decision (partition);

create table page (
    job       bigint not null references job (id),
    read      bigint not null,
    number    bigint not null,
    rows      bigint not null,
    total     bigint,
    rows_hash bytea not null,
    stored_at text collate "C" not null,
    primary key (job, read, number)
);

-- Bodies as received, without the key, compressed with zstd.
create table body (
    job       bigint not null references job (id),
    read      bigint not null,
    page      bigint not null,
    raw_bytes bigint not null,
    blake3    bytea not null,
    zstd      bytea not null,
    unique (job, read, page)
);

create table attempt (
    id          bigint generated always as identity primary key,
    job         bigint not null references job (id),
    read        bigint not null,
    page        bigint not null,
    try         bigint not null,
    sent        boolean not null,
    sent_at     text collate "C" not null,
    took_ms     bigint not null,
    waited_ms   bigint not null,
    outcome     text collate "C" not null,
    http_status bigint,
    code        text collate "C",
    why         text collate "C",
    body_bytes  bigint not null
);

create index attempt_job on attempt (job);

create table api_state (
    dataset       text collate "C" not null,
    key_id        text collate "C" not null,
    day           text collate "C",
    -- Of that day: reserved before they are sent, so that a kill can not overspend.
    calls         bigint not null default 0,
    blocked_until text collate "C",
    why           text collate "C",
    primary key (dataset, key_id)
);

-- What is known of every partition: the verdict of its latest job beside the rows that are published, and those of a
-- snapshot that waits for a decision.
create view coverage as
select p.dataset,
       p.key as partition,
       p.region,
       p.month,
       latest.verdict,
       coalesce(published.received, 0) as rows,
       latest.promised_last as promised,
       latest.distinct_rows,
       p.checked_at,
       p.changed_at,
       case
           when p.waiting_job is not null then 'waits for the other successors of its district reform'
           when p.replaced_job is not null and p.published_job is null then 'replaced by the successors of its district'
           else latest.why
       end as why,
       (select held.received from job held
        where held.partition = p.id and held.verdict = 'held' and held.snapshot = 'kept'
        order by held.id desc limit 1) as held_rows,
       case
           when p.waiting_job is not null then 'waiting'
           when p.published_job is not null then 'visible'
           when p.replaced_job is not null then 'replaced'
       end as standing
from partition p
left join job published on published.id = p.published_job
left join job latest on latest.id = (select max(j.id) from job j where j.partition = p.id and j.state = 'ended');

create view columns as
select dataset, id as "column", field as source_field, type, unit, label, label_ko
from declared_column
order by dataset, position;

create view regions as
select list, code, name, valid_from, valid_to, kind, successors
from region;

-- Each process that writes counts its transactions here, each in the transaction itself: one whose answer was lost can be
-- looked up.
create table writer (
    id      text collate "C" primary key,
    -- The latest of its transactions that was committed.
    mark    bigint not null,
    seen_at timestamptz not null
);

-- A run is alive while its lease, by the clock of the database, is not over.
create table lease (
    run         bigint primary key references run (id),
    lease_until timestamptz not null
);
