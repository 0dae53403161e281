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
CREATE TABLE `analytics_passes` (
	`tenant_id` text PRIMARY KEY NOT NULL,
	`updated` integer NOT NULL,
	`since` integer,
	`ladder` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `counted_users` (
	`user_iid` blob PRIMARY KEY NOT NULL,
	`days` text NOT NULL,
	`days_from` integer NOT NULL,
	`streak` integer NOT NULL,
	`completions` text NOT NULL,
	`levels` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `users` ADD `counted` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
-- The first change of a user since the user was counted makes a pass due a minute later, and asks a pass in
-- progress for another one. A change of a level does the same. While a pass is due, this writes nothing. A
-- tenant without changes has no due work.
CREATE TRIGGER `analytics_of_new_users` AFTER INSERT ON `users` BEGIN INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`, `asked`, `progress`) SELECT new.`tenant_id`, 'analytics', '', `now` + 60000, 1, json_object('until', `now`) FROM ( SELECT coalesce((SELECT `now` FROM `test_clock`), unixepoch() * 1000) AS `now`) WHERE true ON CONFLICT DO UPDATE SET `asked` = 1 WHERE `asked` = 0; END;
--> statement-breakpoint
CREATE TRIGGER `analytics_of_changed_users` AFTER UPDATE OF `seq` ON `users` WHEN old.`seq` <= old.`counted` BEGIN INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`, `asked`, `progress`) SELECT new.`tenant_id`, 'analytics', '', `now` + 60000, 1, json_object('until', `now`) FROM ( SELECT coalesce((SELECT `now` FROM `test_clock`), unixepoch() * 1000) AS `now`) WHERE true ON CONFLICT DO UPDATE SET `asked` = 1 WHERE `asked` = 0; END;
--> statement-breakpoint
CREATE TRIGGER `analytics_of_new_levels` AFTER INSERT ON `points_levels` BEGIN INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`, `asked`, `progress`) SELECT new.`tenant_id`, 'analytics', '', `now` + 60000, 1, json_object('until', `now`) FROM ( SELECT coalesce((SELECT `now` FROM `test_clock`), unixepoch() * 1000) AS `now`) WHERE true ON CONFLICT DO UPDATE SET `asked` = 1 WHERE `asked` = 0; END;
--> statement-breakpoint
CREATE TRIGGER `analytics_of_changed_levels` AFTER UPDATE OF `points`, `deleted` ON `points_levels` BEGIN INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`, `asked`, `progress`) SELECT new.`tenant_id`, 'analytics', '', `now` + 60000, 1, json_object('until', `now`) FROM ( SELECT coalesce((SELECT `now` FROM `test_clock`), unixepoch() * 1000) AS `now`) WHERE true ON CONFLICT DO UPDATE SET `asked` = 1 WHERE `asked` = 0; END;
--> statement-breakpoint
-- Existing tenants are counted soon.
INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`, `asked`)
	SELECT `id`, 'analytics', '', unixepoch() * 1000, 1 FROM `tenants`
	WHERE `status` <> 'purging';
--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 19, `name` = '0019_analytics', `oldest` = 15;
