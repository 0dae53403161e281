CREATE TABLE `arriving_users` (
	`tenant_id` text NOT NULL,
	`user_iid` text NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`tenant_id`, `user_iid`)
) WITHOUT ROWID;
--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 21, `name` = '0021_moves', `oldest` = 15;
