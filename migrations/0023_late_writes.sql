CREATE TABLE `held_databases` (
	`name` text PRIMARY KEY NOT NULL,
	`tenants` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `deleted_keys` ADD `dropped` integer;--> statement-breakpoint
ALTER TABLE `test_clock` ADD `change` text;--> statement-breakpoint
-- Counts for each database the tenants whose directory names it, so that nobody has to read all directories.
CREATE TRIGGER `directory_added` AFTER INSERT ON `directory` BEGIN INSERT INTO `held_databases` (`name`, `tenants`) SELECT DISTINCT `value` ->> 1, 1 FROM json_each(new.`places`) WHERE true ON CONFLICT (`name`) DO UPDATE SET `tenants` = `tenants` + 1; END;
--> statement-breakpoint
CREATE TRIGGER `directory_changed` AFTER UPDATE OF `places` ON `directory` WHEN new.`places` IS NOT old.`places` BEGIN UPDATE `held_databases` SET `tenants` = `tenants` - 1 WHERE `name` IN (SELECT `value` ->> 1 FROM json_each(old.`places`)); INSERT INTO `held_databases` (`name`, `tenants`) SELECT DISTINCT `value` ->> 1, 1 FROM json_each(new.`places`) WHERE true ON CONFLICT (`name`) DO UPDATE SET `tenants` = `tenants` + 1; END;
--> statement-breakpoint
CREATE TRIGGER `directory_removed` AFTER DELETE ON `directory` BEGIN UPDATE `held_databases` SET `tenants` = `tenants` - 1 WHERE `name` IN (SELECT `value` ->> 1 FROM json_each(old.`places`)); END;
--> statement-breakpoint
INSERT INTO `held_databases` (`name`, `tenants`)
SELECT place.`value` ->> 1, count(DISTINCT d.`tenant_id`) FROM `directory` d CROSS JOIN json_each(d.`places`) place GROUP BY 1;
--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 23, `name` = '0023_late_writes', `oldest` = 15;
