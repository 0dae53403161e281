CREATE TABLE `day_sums` (
	`user_iid` blob NOT NULL,
	`log` text NOT NULL,
	`no` integer NOT NULL,
	`through` integer NOT NULL,
	`days` text NOT NULL,
	PRIMARY KEY(`user_iid`, `log`, `no`)
) WITHOUT ROWID;
