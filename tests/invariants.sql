-- What is true of every store at every moment, after every kill. Each query returns no row when all is well, and says
-- what is wrong when it is not. Written for the dataset `apt_trade`: put another name in its place for others.

-- A partition has at most one live job.
select partition, count(*) from job where state <> 'ended' group by partition having count(*) > 1;

-- A job that has ended has a verdict and an end, one that has not has neither.
select id, state, verdict, ended_at from job
where (state = 'ended') <> (verdict is not null) or (state = 'ended') <> (ended_at is not null);

-- What a partition shows, or is to show, is a whole snapshot of it that is still there.
select p.key, j.id, j.state, j.verdict, j.snapshot from partition p
left join job j on j.id in (p.published_job, p.waiting_job, p.replaced_job)
where coalesce(p.published_job, p.waiting_job, p.replaced_job) is not null
  and (j.id is null or j.partition <> p.id or j.state <> 'ended' or j.snapshot <> 'kept'
       or j.verdict not in ('complete', 'empty', 'unverified'));

-- A partition that shows something says since when, and was checked no earlier than it changed.
select key, published_at, checked_at, changed_at from partition
where published_job is not null and (published_at is null or checked_at is null or changed_at is null);

-- A snapshot has one page after another, from the first, each once.
select j.id, count(*), min(g.number), max(g.number) from job j join page g on g.job = j.id and g.read = j.read
where j.verdict in ('complete', 'unverified', 'held')
group by j.id having min(g.number) <> 1 or max(g.number) <> count(*);

-- A whole snapshot received what its pages hold, and what was promised last where something was promised.
select j.id, j.received, j.promised_last, coalesce(sum(g.rows), 0) from job j
left join page g on g.job = j.id and g.read = j.read
where j.verdict in ('complete', 'empty') and j.snapshot = 'kept'
group by j.id having j.received <> coalesce(sum(g.rows), 0) or j.received <> coalesce(j.promised_last, j.received);

-- Pages are of the read that is open, or that counted when the job ended.
select g.job, g.read, g.number, j.read from page g join job j on j.id = g.job
where g.read > j.read or (j.state = 'ended' and g.read <> j.read);

-- A page holds the rows its line counts, as long as its snapshot is kept.
select g.job, g.read, g.number, g.rows, count(r._job) from page g
join job j on j.id = g.job
join partition p on p.id = j.partition and p.dataset = 'apt_trade'
left join apt_trade_rows r on r._job = g.job and r._read = g.read and r._page = g.number
where j.snapshot = 'kept'
group by g.job, g.read, g.number having g.rows <> count(r._job);

-- Rows are numbered from 1 without a gap on their page.
select _job, _read, _page, count(*), min(_ordinal), max(_ordinal) from apt_trade_rows
group by _job, _read, _page having min(_ordinal) <> 1 or max(_ordinal) <> count(*);

-- No row is without its page, and none is left of a snapshot that was dropped.
select r._job, r._read, r._page, count(*) from apt_trade_rows r
left join page g on g.job = r._job and g.read = r._read and g.number = r._page
left join job j on j.id = r._job
where g.job is null or j.snapshot <> 'kept'
group by r._job, r._read, r._page;

-- A row is filed under the partition of its job.
select r._job, r.region, r.month, p.key from apt_trade_rows r
join job j on j.id = r._job join partition p on p.id = j.partition
where 'region=' || r.region || ',month=' || r.month <> p.key
group by r._job, r.region, r.month, p.key;

-- No body is without its page, and none is left of a snapshot that was dropped.
select b.job, b.read, b.page from body b
left join page g on g.job = b.job and g.read = b.read and g.number = b.page
left join job j on j.id = b.job
where g.job is null or j.snapshot <> 'kept';

-- The view shows the rows of what is published, all of them, and nothing else.
select p.key, j.received, count(r._job) from partition p
join job j on j.id = p.published_job
left join apt_trade_rows r on r._job = j.id
where p.dataset = 'apt_trade'
group by p.id, j.id having j.received <> count(r._job);

-- At most one snapshot of a partition waits for a decision.
select partition, count(*) from job where verdict = 'held' and snapshot = 'kept' group by partition having count(*) > 1;

-- A retired district is not visible beside one that was made of it, in the same month.
select old.key, new.key from partition old
join dataset d on d.id = old.dataset
join reform f on f.list = d.region_list and f.code = old.region and f.side = 'retired'
join reform g on g.list = f.list and g.reform = f.reform and g.side = 'successor'
join region born on born.list = g.list and born.code = g.code and born.valid_from is not null
join partition new on new.dataset = old.dataset and new.region = g.code and new.month is not distinct from old.month
where old.published_job is not null and new.published_job is not null;

-- What a partition waits with is not what it shows already.
select key from partition where waiting_job = published_job or replaced_job = published_job;
