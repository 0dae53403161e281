CREATE TABLE `audit_log` (
	`tenant_id` text NOT NULL,
	`id` text NOT NULL,
	`at` integer NOT NULL,
	`key_id` text,
	`key_name` text,
	`action` text NOT NULL,
	`kind` text NOT NULL,
	`resource_id` text,
	`key` text,
	`user_iid` text,
	`request_id` text NOT NULL,
	`fields` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `audit_log_by_user` ON `audit_log` (`tenant_id`,`user_iid`) WHERE user_iid IS NOT NULL;--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 17, `name` = '0017_audit', `oldest` = 15;
