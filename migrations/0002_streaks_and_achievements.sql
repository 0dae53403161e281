CREATE TABLE `achievements` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`key` text NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`badge_url` text,
	`status` text NOT NULL,
	`trigger` text NOT NULL,
	`metric_id` text,
	`metric_value` real,
	`streak_length` integer,
	`achievement_ids` text NOT NULL,
	`user_attributes` text NOT NULL,
	`event_attributes` text NOT NULL,
	`counter_id` text NOT NULL,
	`counted` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `achievements_id_unique` ON `achievements` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `achievements_key` ON `achievements` (`tenant_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `tallies` (
	`tenant_id` text NOT NULL,
	`name` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`tenant_id`, `name`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `streak_pauses` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`user_id` text NOT NULL,
	`user_iid` text NOT NULL,
	`start` integer NOT NULL,
	`end` integer NOT NULL,
	`deleted` integer
);
--> statement-breakpoint
CREATE INDEX `streak_pauses_by_user` ON `streak_pauses` (`user_iid`);--> statement-breakpoint
CREATE TABLE `streak_runs` (
	`user_iid` text NOT NULL,
	`first` integer NOT NULL,
	`last` integer NOT NULL,
	`started` integer NOT NULL,
	`marks` text NOT NULL,
	`length` integer NOT NULL,
	PRIMARY KEY(`user_iid`, `first`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `change_spreads` (
	`tenant_id` text NOT NULL,
	`period` text NOT NULL,
	`subject` text NOT NULL,
	`document` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `period`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `tenants` ADD `streaks` text;--> statement-breakpoint
ALTER TABLE `users` ADD `streak` text;--> statement-breakpoint
ALTER TABLE `users` ADD `streak_due` integer;--> statement-breakpoint
ALTER TABLE `users` ADD `achievements` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `preferences` text;--> statement-breakpoint
CREATE INDEX `users_by_streak_due` ON `users` (`tenant_id`,`streak_due`) WHERE streak_due IS NOT NULL;--> statement-breakpoint
INSERT INTO `tallies` (`tenant_id`, `name`, `count`) SELECT tenant_id, 'users', count(*) FROM users GROUP BY tenant_id;--> statement-breakpoint
UPDATE `users` SET `streak` = '{"frequency":"unknown"}' WHERE metrics <> '[]';--> statement-breakpoint
INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`)
SELECT DISTINCT tenant_id, 'recount', '', unixepoch() * 1000 FROM users WHERE streak IS NOT NULL;
