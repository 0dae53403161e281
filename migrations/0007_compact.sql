-- Ids took half of each row of an event or award. A UUID becomes its 16 bytes. The id of a resource becomes the
-- number of its row.
CREATE TABLE `compact_events` (
	`user_iid` blob NOT NULL,
	`metric_no` integer NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`id` blob NOT NULL,
	`value` integer NOT NULL,
	`utc_offset` integer NOT NULL,
	`attributes` text,
	PRIMARY KEY(`user_iid`, `metric_no`, `at`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `compact_events` (`user_iid`, `metric_no`, `at`, `seq`, `id`, `value`, `utc_offset`, `attributes`)
SELECT unhex(e.`user_iid`, '-'), m.`no`, e.`at`, e.`seq`, unhex(e.`id`, '-'), e.`value`, e.`utc_offset`, e.`attributes`
FROM `events` e LEFT JOIN `metrics` m ON m.`id` = e.`metric_id`;
--> statement-breakpoint
DROP TABLE `events`;
--> statement-breakpoint
ALTER TABLE `compact_events` RENAME TO `events`;
--> statement-breakpoint
CREATE TABLE `compact_idempotency_keys` (
	`user_iid` blob NOT NULL,
	`metric_no` integer NOT NULL,
	`key` text NOT NULL,
	`event_id` blob NOT NULL,
	PRIMARY KEY(`user_iid`, `metric_no`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `compact_idempotency_keys` (`user_iid`, `metric_no`, `key`, `event_id`)
SELECT unhex(i.`user_iid`, '-'), m.`no`, i.`key`, unhex(i.`event_id`, '-')
FROM `idempotency_keys` i LEFT JOIN `metrics` m ON m.`id` = i.`metric_id`;
--> statement-breakpoint
DROP TABLE `idempotency_keys`;
--> statement-breakpoint
ALTER TABLE `compact_idempotency_keys` RENAME TO `idempotency_keys`;
--> statement-breakpoint
CREATE TABLE `compact_awards` (
	`user_iid` blob NOT NULL,
	`system_no` integer NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`position` integer NOT NULL,
	`id` blob NOT NULL,
	`awarded` integer NOT NULL,
	`total` integer NOT NULL,
	`utc_offset` integer NOT NULL,
	`trigger_no` integer NOT NULL,
	`trigger_version` integer NOT NULL,
	`boosts` text,
	PRIMARY KEY(`user_iid`, `system_no`, `at`, `seq`, `position`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `compact_awards` (`user_iid`, `system_no`, `at`, `seq`, `position`, `id`, `awarded`, `total`, `utc_offset`, `trigger_no`,
	`trigger_version`, `boosts`)
SELECT unhex(a.`user_iid`, '-'), s.`no`, a.`at`, a.`seq`, a.`position`, unhex(a.`id`, '-'), a.`awarded`, a.`total`, a.`utc_offset`,
	t.`no`, a.`trigger_version`, a.`boosts`
FROM `awards` a LEFT JOIN `points_systems` s ON s.`id` = a.`system_id` LEFT JOIN `points_triggers` t ON t.`id` = a.`trigger_id`;
--> statement-breakpoint
DROP TABLE `awards`;
--> statement-breakpoint
ALTER TABLE `compact_awards` RENAME TO `awards`;
