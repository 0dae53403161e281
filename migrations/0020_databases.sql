CREATE TABLE `database_weights` (
	`name` text PRIMARY KEY NOT NULL,
	`weight` real NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `deleted_keys` (
	`prefix` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory` (
	`tenant_id` text PRIMARY KEY NOT NULL,
	`version` integer NOT NULL,
	`places` text NOT NULL,
	`placements` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `tenants` ADD `is_copy` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `tenants` ADD `placement` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `tenants` ADD `changing` text;--> statement-breakpoint
ALTER TABLE `tenants` ADD `config_work` text;--> statement-breakpoint
ALTER TABLE `restores` ADD `moment` integer;--> statement-breakpoint
ALTER TABLE `test_clock` ADD `changing` integer;--> statement-breakpoint
ALTER TABLE `users` ADD `bucket` integer;--> statement-breakpoint
CREATE INDEX `users_by_bucket` ON `users` (`tenant_id`,`bucket`) WHERE bucket IS NOT NULL;
--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 20, `name` = '0020_databases', `oldest` = 15;
