CREATE TABLE `leaderboards` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`key` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`status` text NOT NULL,
	`rank_by` text NOT NULL,
	`metric_id` text,
	`system_id` text,
	`max_participants` integer NOT NULL,
	`start` text NOT NULL,
	`end` text,
	`start_time` text,
	`end_time` text,
	`breakdown` text NOT NULL,
	`run_unit` text,
	`run_interval` integer,
	`finished` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `leaderboards_id_unique` ON `leaderboards` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `leaderboards_key` ON `leaderboards` (`tenant_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `due_work` (
	`tenant_id` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`due_at` integer NOT NULL,
	`asked` integer DEFAULT 0 NOT NULL,
	`progress` text,
	PRIMARY KEY(`tenant_id`, `kind`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `points_triggers` ADD `anchor` integer;--> statement-breakpoint
ALTER TABLE `users` ADD `touched` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
UPDATE `users` SET `touched` = (
	SELECT json_group_object(id, users.seq)
	FROM (SELECT value ->> 0 AS id FROM json_each(users.metrics) UNION SELECT key FROM json_each(users.points))
);--> statement-breakpoint
UPDATE `points_triggers` SET `anchor` = unixepoch() * 1000 WHERE type = 'time' AND status = 'active';--> statement-breakpoint
INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`)
SELECT DISTINCT tenant_id, 'ticks', '', unixepoch() * 1000 FROM points_triggers
WHERE type = 'time' AND status = 'active' AND deleted IS NULL;--> statement-breakpoint
UPDATE `tenants` SET `config_version` = config_version + 1
WHERE id IN (SELECT tenant_id FROM due_work);
