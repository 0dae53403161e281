ALTER TABLE `restores` ADD `confirmed` integer;--> statement-breakpoint
CREATE INDEX `tenants_with_work` ON `tenants` (`id`) WHERE config_work IS NOT NULL;--> statement-breakpoint
CREATE INDEX `deleted_keys_by_time` ON `deleted_keys` (`dropped`,`at`);--> statement-breakpoint
UPDATE `tenants` SET `config_work` = NULL WHERE `config_work` = '[]';--> statement-breakpoint
-- Versions before 0020 know only the first database. Once users are elsewhere, they can't serve any more.
CREATE TRIGGER `several_databases_used` AFTER INSERT ON `held_databases` WHEN new.`name` <> 'DB' BEGIN UPDATE `schema_version` SET `oldest` = max(20, `oldest`); END;
--> statement-breakpoint
UPDATE `schema_version` SET `oldest` = max(20, `oldest`) WHERE EXISTS (SELECT 1 FROM `held_databases` WHERE `name` <> 'DB');--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 24, `name` = '0024_databases_in_use', `oldest` = max(15, `oldest`);
