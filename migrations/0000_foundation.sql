CREATE TABLE `attributes` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`type` text NOT NULL,
	`key` text NOT NULL,
	`name` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `attributes_id_unique` ON `attributes` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `attributes_key` ON `attributes` (`tenant_id`,`type`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `test_clock` (
	`id` integer PRIMARY KEY NOT NULL,
	`now` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `events` (
	`user_iid` text NOT NULL,
	`metric_id` text NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`id` text NOT NULL,
	`value` integer NOT NULL,
	`utc_offset` integer NOT NULL,
	`attributes` text,
	PRIMARY KEY(`user_iid`, `metric_id`, `at`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`user_iid` text NOT NULL,
	`metric_id` text NOT NULL,
	`key` text NOT NULL,
	`event_id` text NOT NULL,
	PRIMARY KEY(`user_iid`, `metric_id`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `api_keys` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`prefix` text NOT NULL,
	`kind` text NOT NULL,
	`tenant_id` text,
	`user_id` text,
	`name` text,
	`hash` text NOT NULL,
	`created` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_id_unique` ON `api_keys` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_prefix_unique` ON `api_keys` (`prefix`);--> statement-breakpoint
CREATE INDEX `api_keys_by_tenant` ON `api_keys` (`tenant_id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_user` ON `api_keys` (`tenant_id`,`user_id`);--> statement-breakpoint
CREATE TABLE `metrics` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`key` text NOT NULL,
	`name` text NOT NULL,
	`unit_type` text NOT NULL,
	`units` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `metrics_id_unique` ON `metrics` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `metrics_key` ON `metrics` (`tenant_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `awards` (
	`user_iid` text NOT NULL,
	`system_id` text NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`position` integer NOT NULL,
	`id` text NOT NULL,
	`awarded` integer NOT NULL,
	`total` integer NOT NULL,
	`utc_offset` integer NOT NULL,
	`trigger_id` text NOT NULL,
	`trigger_version` integer NOT NULL,
	`boosts` text,
	PRIMARY KEY(`user_iid`, `system_id`, `at`, `seq`, `position`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `points_boosts` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`system_id` text NOT NULL,
	`user_id` text,
	`user_iid` text,
	`name` text NOT NULL,
	`start` text NOT NULL,
	`end` text NOT NULL,
	`multiplier` real NOT NULL,
	`rounding` text NOT NULL,
	`user_attributes` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `points_boosts_id_unique` ON `points_boosts` (`id`);--> statement-breakpoint
CREATE INDEX `points_boosts_by_user` ON `points_boosts` (`user_iid`,`end`) WHERE user_iid IS NOT NULL AND deleted IS NULL;--> statement-breakpoint
CREATE INDEX `points_boosts_for_all` ON `points_boosts` (`tenant_id`) WHERE user_iid IS NULL AND deleted IS NULL;--> statement-breakpoint
CREATE INDEX `points_boosts_by_system` ON `points_boosts` (`tenant_id`,`system_id`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `points_levels` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`system_id` text NOT NULL,
	`key` text NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`badge_url` text,
	`points` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `points_levels_id_unique` ON `points_levels` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `points_levels_key` ON `points_levels` (`system_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE INDEX `points_levels_by_tenant` ON `points_levels` (`tenant_id`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `points_summaries` (
	`tenant_id` text NOT NULL,
	`system_id` text NOT NULL,
	`kind` text NOT NULL,
	`filter` text NOT NULL,
	`config_version` integer NOT NULL,
	`computed` integer NOT NULL,
	`document` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `system_id`, `kind`, `filter`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `points_systems` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`key` text NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`badge_url` text,
	`max_points` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `points_systems_id_unique` ON `points_systems` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `points_systems_key` ON `points_systems` (`tenant_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `points_triggers` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`system_id` text NOT NULL,
	`type` text NOT NULL,
	`points` integer NOT NULL,
	`status` text NOT NULL,
	`user_attributes` text NOT NULL,
	`event_attributes` text NOT NULL,
	`metric_id` text,
	`metric_threshold` integer,
	`achievement_id` text,
	`streak_length` integer,
	`time_unit` text,
	`time_interval` integer,
	`block_if_out_of_points` integer NOT NULL,
	`counter_id` text NOT NULL,
	`version` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `points_triggers_id_unique` ON `points_triggers` (`id`);--> statement-breakpoint
CREATE INDEX `points_triggers_by_tenant` ON `points_triggers` (`tenant_id`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `trigger_versions` (
	`trigger_id` text NOT NULL,
	`version` integer NOT NULL,
	`document` text NOT NULL,
	PRIMARY KEY(`trigger_id`, `version`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `tenants` (
	`id` text PRIMARY KEY NOT NULL,
	`customer_id` text NOT NULL,
	`name` text NOT NULL,
	`status` text DEFAULT 'active' NOT NULL,
	`config_version` integer DEFAULT 0 NOT NULL,
	`config_change` text,
	`control_ratio` real DEFAULT 0 NOT NULL,
	`recap_frequency` text DEFAULT 'weekly' NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tenants_customer_id_unique` ON `tenants` (`customer_id`);--> statement-breakpoint
CREATE TABLE `users` (
	`tenant_id` text NOT NULL,
	`id` text NOT NULL,
	`iid` text NOT NULL,
	`seq` integer NOT NULL,
	`changed` integer NOT NULL,
	`email` text,
	`name` text,
	`tz` text,
	`subscribe_to_emails` integer NOT NULL,
	`device_tokens` text,
	`attributes` text NOT NULL,
	`control` integer NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`metrics` text NOT NULL,
	`points` text NOT NULL,
	`counters` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `id`)
) WITHOUT ROWID;--> statement-breakpoint
INSERT INTO `tenants` (`id`, `customer_id`, `name`, `created`, `updated`)
VALUES ('00000000-0000-7000-8000-000000000000', 'default', 'Default', 0, 0);
