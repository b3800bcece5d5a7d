-- The provider's day on which a job ended: failures count once a day, and its day is not that of UTC.
alter table job add column ended_on text;

-- What its worker waited for the store, but for its end.
alter table job add column store_ms bigint;

-- What an attempt waited for before it left: after the try before it, for a permit, for a slot. `waited_ms` is the last
-- two and the pauses of its API and provider.
alter table attempt add column retry_ms bigint;
alter table attempt add column permit_ms bigint;
alter table attempt add column slot_ms bigint;

-- `coverage` looks for the snapshot that waits for a decision, and hardly any partition has one.
create index job_held on job (partition) where verdict = 'held' and snapshot = 'kept';
