-- The provider's day on which a job ended: failures count once a day, and its day is not that of UTC.
alter table job add column ended_on text;

-- `coverage` looks for the snapshot that waits for a decision, and hardly any partition has one.
create index job_held on job (partition) where verdict = 'held' and snapshot = 'kept';
