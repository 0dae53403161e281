CREATE TABLE users (id text PRIMARY KEY, seq integer NOT NULL, changed integer NOT NULL) WITHOUT ROWID;

CREATE TABLE metric_totals (
  user_id text NOT NULL, metric_id text NOT NULL, total integer NOT NULL, PRIMARY KEY (user_id, metric_id)
) WITHOUT ROWID;

CREATE TABLE points_totals (
  user_id text NOT NULL, system_id text NOT NULL, total integer NOT NULL, PRIMARY KEY (user_id, system_id)
) WITHOUT ROWID;

CREATE TABLE events (
  user_id text NOT NULL, metric_id text NOT NULL, at integer NOT NULL, id text NOT NULL,
  value integer NOT NULL, PRIMARY KEY (user_id, metric_id, at, id)
) WITHOUT ROWID;

CREATE TABLE awards (
  user_id text NOT NULL, system_id text NOT NULL, at integer NOT NULL, id text NOT NULL,
  awarded integer NOT NULL, total integer NOT NULL, PRIMARY KEY (user_id, system_id, at, id)
) WITHOUT ROWID;
