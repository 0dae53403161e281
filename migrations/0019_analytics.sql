CREATE TABLE `analytics_figures` (
	`tenant_id` text NOT NULL,
	`figure` text NOT NULL,
	`subject_no` integer NOT NULL,
	`day` integer NOT NULL,
	`part` integer NOT NULL,
	`amount` integer NOT NULL,
	PRIMARY KEY(`tenant_id`, `figure`, `subject_no`, `day`, `part`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `counted_users` (
	`user_iid` blob PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	`days` text NOT NULL,
	`days_from` integer NOT NULL,
	`streak` integer NOT NULL,
	`completions` text NOT NULL,
	`levels` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
-- Each tenant has the work `analytics` for ever. Existing tenants are counted soon, new ones at the next full hour.
INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`)
	SELECT `id`, 'analytics', '', unixepoch() * 1000 FROM `tenants` WHERE `status` <> 'purging';
--> statement-breakpoint
CREATE TRIGGER `analytics_of_new_tenants` AFTER INSERT ON `tenants`
BEGIN
	INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`)
	VALUES (new.`id`, 'analytics', '', (new.`created` / 3600000 + 1) * 3600000) ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 19, `name` = '0019_analytics', `oldest` = 15;
