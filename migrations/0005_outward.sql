CREATE TABLE `notices` (
	`tenant_id` text NOT NULL,
	`due_at` integer NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`user_iid` text NOT NULL,
	`achievement_id` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `due_at`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `notification_templates` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`type` text NOT NULL,
	`channel` text NOT NULL,
	`title` text NOT NULL,
	`body` text NOT NULL,
	`user_attributes` text NOT NULL,
	`status` text NOT NULL,
	`origin` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `notification_templates_id_unique` ON `notification_templates` (`id`);--> statement-breakpoint
CREATE INDEX `notification_templates_by_tenant` ON `notification_templates` (`tenant_id`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `outbox` (
	`tenant_id` text NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`id` text NOT NULL,
	`user_iid` text,
	`messages` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `at`, `seq`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `points_told` (
	`user_iid` text NOT NULL,
	`system_id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`user_id` text NOT NULL,
	`seq` integer NOT NULL,
	`at` integer NOT NULL,
	`total` integer NOT NULL,
	`until` integer NOT NULL,
	`due_at` integer,
	PRIMARY KEY(`user_iid`, `system_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `points_told_by_due` ON `points_told` (`tenant_id`,`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
ALTER TABLE `points_boosts` ADD `told` text;--> statement-breakpoint
ALTER TABLE `tenants` ADD `link_secret` text;--> statement-breakpoint
ALTER TABLE `users` ADD `active_day` integer;--> statement-breakpoint
-- Reactivation counts from the local date of the last event. So far, only the log has it.
UPDATE `users` SET `active_day` = (SELECT (e.`at` + e.`utc_offset` * 60000) / 86400000 FROM `events` e WHERE e.`user_iid` = `users`.`iid` ORDER BY e.`at` DESC, e.`seq` DESC LIMIT 1);
