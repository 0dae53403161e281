CREATE TABLE `event_batches` (
	`tenant_id` text NOT NULL,
	`id` text NOT NULL,
	`created` integer NOT NULL,
	`accepted` integer NOT NULL,
	`processed` integer DEFAULT 0 NOT NULL,
	`dropped` integer DEFAULT 0 NOT NULL,
	`parked` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`tenant_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `inbox` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`tenant_id` text NOT NULL,
	`batch_id` text NOT NULL,
	`count` integer NOT NULL,
	`offset` integer NOT NULL,
	`done` integer DEFAULT 0 NOT NULL,
	`seq` integer DEFAULT 0 NOT NULL,
	`events` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `inbox_by_tenant` ON `inbox` (`tenant_id`,`no`);--> statement-breakpoint
CREATE TABLE `parked_events` (
	`tenant_id` text NOT NULL,
	`batch_id` text NOT NULL,
	`position` integer NOT NULL,
	`event` text NOT NULL,
	`reason` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `batch_id`, `position`)
) WITHOUT ROWID;
--> statement-breakpoint
DROP INDEX `tenants_customer_id_unique`;--> statement-breakpoint
DROP INDEX `points_boosts_by_user`;--> statement-breakpoint
CREATE INDEX `points_boosts_by_user` ON `points_boosts` (`user_iid`,`end`) WHERE user_iid IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `tenants_by_customer` ON `tenants` (`customer_id`) WHERE status = 'active';--> statement-breakpoint
CREATE INDEX `users_by_age` ON `users` (`tenant_id`,`created`);--> statement-breakpoint
UPDATE `tenants` SET `customer_id` = `id` WHERE `id` = '00000000-0000-7000-8000-000000000000' AND `customer_id` = 'default';
