-- The ledger and the promised views `coverage`, `columns` and `regions`.
-- Row tables and their views are made per dataset when it is declared. Instants are RFC 3339 in UTC with milliseconds.

-- "gapl": tells our files from those of other programs.
pragma application_id = 1734439020;

create table meta (
    name  text primary key,
    value blob not null
) strict, without rowid;

-- Key ids are digests with this salt, so that a store gives no way to test a guessed key against other stores.
insert into meta (name, value) values ('salt', randomblob(32));

create table dataset (
    id          text primary key,
    title       text not null,
    -- Ids of the axes in order, joined by commas.
    axes        text not null,
    -- The axis that regions are of, and the list they are from.
    region_axis text,
    region_list text,
    declared_at text not null
) strict, without rowid;

create table declared_column (
    dataset  text not null references dataset (id),
    -- From 1, in the order of declaration: a later column is at the end.
    position integer not null,
    id       text not null,
    field    text not null,
    type     text not null,
    unit     text,
    label    text,
    label_ko text,
    primary key (dataset, position),
    unique (dataset, id)
) strict, without rowid;

create table region (
    list       text not null,
    code       text not null,
    -- From the widest to the narrowest, joined by blanks.
    name       text not null,
    valid_from text,
    -- The first day the code is no longer current.
    valid_to   text,
    kind       text not null check (kind in ('leaf', 'parent', 'retired')),
    -- Codes joined by commas.
    successors text,
    primary key (list, code)
) strict, without rowid;

-- Codes that are tied together by a district reform: those that went, and those that hold their rows now.
create table reform (
    list   text not null,
    code   text not null,
    -- The lowest retired code names the reform.
    reform text not null,
    side   text not null check (side in ('retired', 'successor')),
    -- The first day on which all successors are current.
    day    text,
    primary key (list, code)
) strict, without rowid;

create table run (
    id         integer primary key,
    command    text not null,
    started_at text not null,
    ended_at   text,
    exit_code  integer,
    version    text not null
) strict;

create table partition (
    id            integer primary key,
    dataset       text not null references dataset (id),
    -- `region=11110,month=2024-01`
    key           text not null,
    region        text,
    month         text,
    -- The snapshot that is visible.
    published_job integer references job (id),
    published_at  text,
    -- A whole snapshot that becomes visible together with the other successors of its district reform.
    waiting_job   integer references job (id),
    -- The snapshot that left the view when the successors of its district took its place.
    replaced_job  integer references job (id),
    replaced_at   text,
    checked_at    text,
    changed_at    text,
    unique (dataset, key)
) strict;

create unique index partition_published on partition (published_job) where published_job is not null;

create table job (
    id              integer primary key,
    run             integer not null references run (id),
    partition       integer not null references partition (id),
    state           text not null check (state in ('pending', 'running', 'ended')),
    verdict         text,
    why             text,
    read            integer not null default 1,
    claims          integer not null default 1,
    token           text,
    promised_first  integer,
    promised_last   integer,
    received        integer,
    distinct_rows   integer,
    definition_hash text not null,
    started_at      text not null,
    ended_at        text,
    -- Of a job that was held: the provider's day of its end, and on how many days the same rows were read until then.
    held_on         text,
    held_days       integer,
    -- Whether its rows and bodies are still there.
    snapshot        text not null default 'kept' check (snapshot in ('kept', 'dropped')),
    check ((state = 'ended') = (verdict is not null))
) strict;

create index job_run on job (run, verdict);
create index job_partition on job (partition, state, id);
create unique index job_live on job (partition) where state <> 'ended';

-- Snapshots that were held and are published all the same.
create table decision (
    id         integer primary key,
    partition  integer not null references partition (id),
    job        integer not null references job (id),
    decided_at text not null,
    who        text not null,
    why        text not null,
    -- Why it was held.
    held_why   text
) strict;

create index decision_partition on decision (partition);

create table page (
    job       integer not null references job (id),
    read      integer not null,
    number    integer not null,
    rows      integer not null,
    total     integer,
    rows_hash blob not null,
    stored_at text not null,
    primary key (job, read, number)
) strict, without rowid;

-- Bodies as received, without the key, compressed with zstd.
create table body (
    job       integer not null references job (id),
    read      integer not null,
    page      integer not null,
    raw_bytes integer not null,
    blake3    blob not null,
    zstd      blob not null,
    unique (job, read, page)
) strict;

create table attempt (
    id          integer primary key,
    job         integer not null references job (id),
    read        integer not null,
    page        integer not null,
    try         integer not null,
    sent        integer not null,
    sent_at     text not null,
    took_ms     integer not null,
    waited_ms   integer not null,
    outcome     text not null,
    http_status integer,
    code        text,
    why         text,
    body_bytes  integer not null
) strict;

create index attempt_job on attempt (job);

create table api_state (
    dataset       text not null,
    key_id        text not null,
    day           text,
    -- Of that day: reserved before they are sent, so that a kill can not overspend.
    calls         integer not null default 0,
    blocked_until text,
    why           text,
    primary key (dataset, key_id)
) strict, without rowid;

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
        where held.partition = p.id and held.verdict = 'held' and held.snapshot = 'kept') as held_rows,
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
