CREATE TABLE `user_changes` (
	`user_iid` blob NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`position` integer NOT NULL,
	`entries` text NOT NULL,
	PRIMARY KEY(`user_iid`, `at`, `seq`, `position`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `awards` ADD `amount` integer;--> statement-breakpoint
ALTER TABLE `awards` ADD `counter_before` integer;--> statement-breakpoint
ALTER TABLE `awards` ADD `counter_after` integer;--> statement-breakpoint
ALTER TABLE `awards` ADD `levels` text;--> statement-breakpoint
ALTER TABLE `events` ADD `streak` text;--> statement-breakpoint
ALTER TABLE `voided_events` ADD `streak` text;--> statement-breakpoint
CREATE INDEX `voided_events_moments` ON `voided_events` (`user_iid`,`at`,`seq`);--> statement-breakpoint
CREATE INDEX `voided_events_voids` ON `voided_events` (`user_iid`,`voided_at`,`voided_seq`);--> statement-breakpoint
ALTER TABLE `streak_runs` ADD `lost` integer;--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 16, `name` = '0016_explain', `oldest` = 15;
