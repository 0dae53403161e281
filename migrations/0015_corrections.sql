CREATE TABLE `adjustment_keys` (
	`user_iid` blob NOT NULL,
	`system_no` integer NOT NULL,
	`key` text NOT NULL,
	`award_id` blob NOT NULL,
	`awarded` integer NOT NULL,
	`total` integer NOT NULL,
	PRIMARY KEY(`user_iid`, `system_no`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `voided_events` (
	`user_iid` blob NOT NULL,
	`id` blob NOT NULL,
	`metric_no` integer NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`value` integer NOT NULL,
	`utc_offset` integer NOT NULL,
	`attributes` text,
	`counter_ids` text,
	`voided_at` integer NOT NULL,
	`voided_seq` integer NOT NULL,
	`reason` text,
	`response` text NOT NULL,
	PRIMARY KEY(`user_iid`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `awards` ADD `type` text;
--> statement-breakpoint
ALTER TABLE `awards` ADD `reason` text;
--> statement-breakpoint
ALTER TABLE `awards` ADD `reverses` blob;
--> statement-breakpoint
CREATE INDEX `awards_corrections` ON `awards` (`user_iid`,`seq`) WHERE type IS NOT NULL;
--> statement-breakpoint
ALTER TABLE `day_sums` ADD `seq` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `events` ADD `counter_ids` text;
--> statement-breakpoint
ALTER TABLE `users` ADD `revoked` text;
--> statement-breakpoint
-- A version that does not know adjustments, reversals and voids cannot read the awards of users who have them.
UPDATE `schema_version` SET `migration` = 15, `name` = '0015_corrections', `oldest` = 15;
