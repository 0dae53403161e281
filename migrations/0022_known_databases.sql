CREATE TABLE `known_databases` (
	`name` text PRIMARY KEY NOT NULL,
	`since` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `directory` ADD `moving` text;
--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 22, `name` = '0022_known_databases', `oldest` = 15;
