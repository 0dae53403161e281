CREATE TABLE `test_clock` (
	`id` integer PRIMARY KEY NOT NULL,
	`now` integer NOT NULL,
	`changing` integer,
	`change` text,
	`move` text
);
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
	`scope` text DEFAULT 'write' NOT NULL,
	`expires` integer,
	`created` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_id_unique` ON `api_keys` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_prefix_unique` ON `api_keys` (`prefix`);--> statement-breakpoint
CREATE INDEX `api_keys_by_tenant` ON `api_keys` (`tenant_id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_user` ON `api_keys` (`tenant_id`,`user_id`);--> statement-breakpoint
CREATE TABLE `restores` (
	`id` integer PRIMARY KEY NOT NULL,
	`epoch` integer NOT NULL,
	`redone` integer NOT NULL,
	`progress` text,
	`moment` integer,
	`confirmed` integer
);
--> statement-breakpoint
CREATE TABLE `tenants` (
	`id` text PRIMARY KEY NOT NULL,
	`customer_id` text NOT NULL,
	`name` text NOT NULL,
	`status` text DEFAULT 'active' NOT NULL,
	`config_version` integer DEFAULT 0 NOT NULL,
	`config_change` text,
	`settings` text,
	`streaks` text,
	`link_secret` text,
	`is_copy` integer DEFAULT 0 NOT NULL,
	`placement` integer DEFAULT 0 NOT NULL,
	`changing` text,
	`config_work` text,
	`created` integer NOT NULL,
	`updated` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tenants_by_customer` ON `tenants` (`customer_id`) WHERE status = 'active';--> statement-breakpoint
CREATE INDEX `tenants_with_work` ON `tenants` (`id`) WHERE config_work IS NOT NULL;--> statement-breakpoint
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
CREATE TABLE `achievements` (
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
	`status` text NOT NULL,
	`trigger` text NOT NULL,
	`metric_id` text,
	`metric_value` real,
	`streak_length` integer,
	`achievement_ids` text NOT NULL,
	`anniversary_years` integer,
	`user_attributes` text NOT NULL,
	`event_attributes` text NOT NULL,
	`counter_id` text NOT NULL,
	`counted` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `achievements_id_unique` ON `achievements` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `achievements_key` ON `achievements` (`tenant_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `tenant_counters` (
	`tenant_id` text NOT NULL,
	`name` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`tenant_id`, `name`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `attributes` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`type` text NOT NULL,
	`key` text NOT NULL,
	`name` text NOT NULL,
	`writable_by` text DEFAULT 'user' NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `attributes_id_unique` ON `attributes` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `attributes_key` ON `attributes` (`tenant_id`,`type`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `leaderboards` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`key` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`status` text NOT NULL,
	`rank_by` text NOT NULL,
	`metric_id` text,
	`system_id` text,
	`max_participants` integer NOT NULL,
	`start` text NOT NULL,
	`end` text,
	`start_time` text,
	`end_time` text,
	`breakdown` text NOT NULL,
	`user_attributes` text NOT NULL,
	`run_unit` text,
	`run_interval` integer,
	`finished` integer,
	`upkeep` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `leaderboards_id_unique` ON `leaderboards` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `leaderboards_key` ON `leaderboards` (`tenant_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
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
	`user_iid` blob NOT NULL,
	`system_no` integer NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`position` integer NOT NULL,
	`id` blob NOT NULL,
	`awarded` integer NOT NULL,
	`total` integer NOT NULL,
	`utc_offset` integer NOT NULL,
	`trigger_no` integer NOT NULL,
	`trigger_version` integer NOT NULL,
	`boosts` text,
	`type` text,
	`amount` integer,
	`reason` text,
	`reverses` blob,
	`counter_before` integer,
	`counter_after` integer,
	`levels` text,
	PRIMARY KEY(`user_iid`, `system_no`, `at`, `seq`, `position`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `awards_corrections` ON `awards` (`user_iid`,`seq`) WHERE type IS NOT NULL;--> statement-breakpoint
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
	`key` text NOT NULL,
	`name` text NOT NULL,
	`start` text NOT NULL,
	`end` text NOT NULL,
	`multiplier` real NOT NULL,
	`rounding` text NOT NULL,
	`user_attributes` text NOT NULL,
	`notified` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `points_boosts_id_unique` ON `points_boosts` (`id`);--> statement-breakpoint
CREATE INDEX `points_boosts_by_user` ON `points_boosts` (`user_iid`,`end`) WHERE user_iid IS NOT NULL;--> statement-breakpoint
CREATE INDEX `points_boosts_for_all` ON `points_boosts` (`tenant_id`) WHERE user_iid IS NULL AND deleted IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `points_boosts_key` ON `points_boosts` (`system_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE INDEX `points_boosts_by_system` ON `points_boosts` (`tenant_id`,`system_id`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE INDEX `points_boosts_by_start` ON `points_boosts` (`tenant_id`,`start`) WHERE user_iid IS NOT NULL AND deleted IS NULL;--> statement-breakpoint
CREATE INDEX `points_boosts_by_end` ON `points_boosts` (`tenant_id`,`end`) WHERE user_iid IS NOT NULL AND deleted IS NULL;--> statement-breakpoint
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
	`key` text NOT NULL,
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
	`version` integer NOT NULL,
	`anchor` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `points_triggers_id_unique` ON `points_triggers` (`id`);--> statement-breakpoint
CREATE INDEX `points_triggers_by_tenant` ON `points_triggers` (`tenant_id`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `points_triggers_key` ON `points_triggers` (`system_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `trigger_versions` (
	`trigger_id` text NOT NULL,
	`version` integer NOT NULL,
	`document` text NOT NULL,
	PRIMARY KEY(`trigger_id`, `version`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `notification_templates` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`key` text NOT NULL,
	`type` text NOT NULL,
	`channel` text NOT NULL,
	`title` text NOT NULL,
	`body` text NOT NULL,
	`user_attributes` text NOT NULL,
	`status` text NOT NULL,
	`origin` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `notification_templates_id_unique` ON `notification_templates` (`id`);--> statement-breakpoint
CREATE INDEX `notification_templates_by_tenant` ON `notification_templates` (`tenant_id`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `notification_templates_key` ON `notification_templates` (`tenant_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE TABLE `pending_notifications` (
	`tenant_id` text NOT NULL,
	`due_at` integer NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`user_iid` text NOT NULL,
	`achievement_id` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `due_at`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `webhooks` (
	`no` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`deleted` integer,
	`key` text NOT NULL,
	`url` text NOT NULL,
	`events` text NOT NULL,
	`status` text NOT NULL,
	`secret` text NOT NULL,
	`previous_secret` text,
	`gone_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `webhooks_id_unique` ON `webhooks` (`id`);--> statement-breakpoint
CREATE INDEX `webhooks_by_tenant` ON `webhooks` (`tenant_id`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `webhooks_key` ON `webhooks` (`tenant_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
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
CREATE TABLE `change_distributions` (
	`tenant_id` text NOT NULL,
	`period` text NOT NULL,
	`subject` text NOT NULL,
	`document` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `period`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
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
CREATE TABLE `arriving_users` (
	`tenant_id` text NOT NULL,
	`user_iid` text NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`tenant_id`, `user_iid`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `database_weights` (
	`name` text PRIMARY KEY NOT NULL,
	`weight` real NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `deleted_keys` (
	`prefix` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`dropped` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `deleted_keys_by_time` ON `deleted_keys` (`dropped`,`at`);--> statement-breakpoint
CREATE TABLE `directory` (
	`tenant_id` text PRIMARY KEY NOT NULL,
	`version` integer NOT NULL,
	`places` text NOT NULL,
	`placements` text NOT NULL,
	`moving` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `held_databases` (
	`name` text PRIMARY KEY NOT NULL,
	`tenants` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `known_databases` (
	`name` text PRIMARY KEY NOT NULL,
	`since` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `schema_version` (
	`id` integer PRIMARY KEY NOT NULL,
	`migration` integer NOT NULL,
	`name` text NOT NULL,
	`oldest` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `day_sums` (
	`user_iid` blob NOT NULL,
	`log` text NOT NULL,
	`no` integer NOT NULL,
	`through` integer NOT NULL,
	`days` text NOT NULL,
	`seq` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`user_iid`, `log`, `no`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `adjustment_keys` (
	`user_iid` blob NOT NULL,
	`system_no` integer NOT NULL,
	`key` text NOT NULL,
	`award_id` blob NOT NULL,
	`awarded` integer NOT NULL,
	`total` integer NOT NULL,
	PRIMARY KEY(`user_iid`, `system_no`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `events` (
	`user_iid` blob NOT NULL,
	`metric_no` integer NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`id` blob NOT NULL,
	`value` integer NOT NULL,
	`utc_offset` integer NOT NULL,
	`attributes` text,
	`counter_ids` text,
	`streak` text,
	PRIMARY KEY(`user_iid`, `metric_no`, `at`, `seq`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`user_iid` blob NOT NULL,
	`metric_no` integer NOT NULL,
	`key` text NOT NULL,
	`event_id` blob NOT NULL,
	`body` integer,
	PRIMARY KEY(`user_iid`, `metric_no`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `voided_events` (
	`user_iid` blob NOT NULL,
	`metric_no` integer NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`id` blob NOT NULL,
	`value` integer NOT NULL,
	`utc_offset` integer NOT NULL,
	`attributes` text,
	`counter_ids` text,
	`streak` text,
	`voided_at` integer NOT NULL,
	`voided_seq` integer NOT NULL,
	`reason` text,
	`response` text NOT NULL,
	PRIMARY KEY(`user_iid`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `voided_events_moments` ON `voided_events` (`user_iid`,`at`,`seq`);--> statement-breakpoint
CREATE INDEX `voided_events_voids` ON `voided_events` (`user_iid`,`voided_at`,`voided_seq`);--> statement-breakpoint
CREATE TABLE `streak_pauses` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`user_id` text NOT NULL,
	`user_iid` text NOT NULL,
	`start` integer NOT NULL,
	`end` integer NOT NULL,
	`deleted` integer
);
--> statement-breakpoint
CREATE INDEX `streak_pauses_by_user` ON `streak_pauses` (`user_iid`);--> statement-breakpoint
CREATE TABLE `streak_runs` (
	`user_iid` text NOT NULL,
	`first` integer NOT NULL,
	`last` integer NOT NULL,
	`started` integer NOT NULL,
	`history` text NOT NULL,
	`length` integer NOT NULL,
	`lost` integer,
	PRIMARY KEY(`user_iid`, `first`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `user_changes` (
	`user_iid` blob NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`position` integer NOT NULL,
	`entries` text NOT NULL,
	PRIMARY KEY(`user_iid`, `at`, `seq`, `position`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `devices` (
	`user_iid` text NOT NULL,
	`token` text NOT NULL,
	`tenant_id` text NOT NULL,
	`user_id` text NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`user_iid`, `token`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `devices_by_token` ON `devices` (`tenant_id`,`token`,`at`);--> statement-breakpoint
CREATE TABLE `users` (
	`tenant_id` text NOT NULL,
	`id` text NOT NULL,
	`iid` text NOT NULL,
	`seq` integer NOT NULL,
	`counted` integer DEFAULT 0 NOT NULL,
	`changed` integer NOT NULL,
	`email` text,
	`name` text,
	`tz` text,
	`subscribe_to_emails` integer NOT NULL,
	`device_tokens` text,
	`attributes` text NOT NULL,
	`sign_up_date` text,
	`control` integer NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`metrics` text NOT NULL,
	`points` text NOT NULL,
	`counters` text NOT NULL,
	`last_seq_by_input` text DEFAULT '{}' NOT NULL,
	`streak` text,
	`streak_due` integer,
	`achievements` text DEFAULT '[]' NOT NULL,
	`revoked` text,
	`preferences` text,
	`active_day` integer,
	`left_zones` text,
	`anniversary` text,
	`bucket` integer,
	PRIMARY KEY(`tenant_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `users_by_age` ON `users` (`tenant_id`,`created`);--> statement-breakpoint
CREATE INDEX `users_by_streak_due` ON `users` (`tenant_id`,`streak_due`) WHERE streak_due IS NOT NULL;--> statement-breakpoint
CREATE INDEX `users_by_anniversary` ON `users` (`tenant_id`,`anniversary`) WHERE anniversary IS NOT NULL;--> statement-breakpoint
CREATE INDEX `users_by_bucket` ON `users` (`tenant_id`,`bucket`) WHERE bucket IS NOT NULL;--> statement-breakpoint
CREATE TABLE `due_work` (
	`tenant_id` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`due_at` integer NOT NULL,
	`asked` integer DEFAULT 0 NOT NULL,
	`progress` text,
	PRIMARY KEY(`tenant_id`, `kind`, `subject`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `outbox` (
	`tenant_id` text NOT NULL,
	`at` integer NOT NULL,
	`seq` integer NOT NULL,
	`id` text NOT NULL,
	`user_iid` text,
	`messages` text NOT NULL,
	PRIMARY KEY(`tenant_id`, `at`, `seq`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `points_notifications` (
	`user_iid` text NOT NULL,
	`system_id` text NOT NULL,
	`tenant_id` text NOT NULL,
	`user_id` text NOT NULL,
	`seq` integer NOT NULL,
	`at` integer NOT NULL,
	`total` integer NOT NULL,
	`until` integer NOT NULL,
	`due_at` integer,
	PRIMARY KEY(`user_iid`, `system_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `points_notifications_by_due` ON `points_notifications` (`tenant_id`,`due_at`) WHERE due_at IS NOT NULL;
--> statement-breakpoint
-- If a user is the first of the tenant in a zone, the statement that stores the user adds the zone to the
-- schedule. Otherwise the job would notice the zone only at the next time of another zone. The schedule has at
-- most 600 zones. All other changes write nothing here.
CREATE TRIGGER `users_of_new_zone` AFTER INSERT ON `users` WHEN new.`tz` IS NOT NULL BEGIN UPDATE `due_work` SET `progress` = json_insert(`progress`, '$.zones[#]', new.`tz`), `due_at` = min(`due_at`, new.`changed`) WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'schedule' AND `subject` = '' AND json_array_length(`progress`, '$.zones') < 600 AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.zones') WHERE `value` = new.`tz` COLLATE NOCASE) AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.aliases') WHERE `value` = new.`tz` COLLATE NOCASE); END;
--> statement-breakpoint
-- The second update is for users' own boosts, which go by the midnights of the new zone.
CREATE TRIGGER `users_to_new_zone` AFTER UPDATE OF `tz` ON `users` WHEN new.`tz` IS NOT old.`tz` BEGIN UPDATE `due_work` SET `progress` = json_insert(`progress`, '$.zones[#]', new.`tz`), `due_at` = min(`due_at`, new.`changed`) WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'schedule' AND `subject` = '' AND json_array_length(`progress`, '$.zones') < 600 AND new.`tz` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.zones') WHERE `value` = new.`tz` COLLATE NOCASE) AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.aliases') WHERE `value` = new.`tz` COLLATE NOCASE); UPDATE `due_work` SET `due_at` = min(`due_at`, new.`changed`) WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'boosts' AND `subject` = '' AND EXISTS (SELECT 1 FROM `points_boosts` WHERE `user_iid` = new.`iid` AND `deleted` IS NULL); END;
--> statement-breakpoint
-- The first change of a user since the user was counted makes a pass of the analytics due a minute later, and
-- asks a pass in progress for another one. A change of a level does the same. While a pass is due, this writes
-- nothing. A tenant without changes has no due work.
CREATE TRIGGER `analytics_of_new_users` AFTER INSERT ON `users` BEGIN INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`, `asked`, `progress`) SELECT new.`tenant_id`, 'analytics', '', `now` + 60000, 1, json_object('until', `now`) FROM ( SELECT coalesce((SELECT `now` FROM `test_clock`), unixepoch() * 1000) AS `now`) WHERE true ON CONFLICT DO UPDATE SET `asked` = 1 WHERE `asked` = 0; END;
--> statement-breakpoint
CREATE TRIGGER `analytics_of_changed_users` AFTER UPDATE OF `seq` ON `users` WHEN old.`seq` <= old.`counted` BEGIN INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`, `asked`, `progress`) SELECT new.`tenant_id`, 'analytics', '', `now` + 60000, 1, json_object('until', `now`) FROM ( SELECT coalesce((SELECT `now` FROM `test_clock`), unixepoch() * 1000) AS `now`) WHERE true ON CONFLICT DO UPDATE SET `asked` = 1 WHERE `asked` = 0; END;
--> statement-breakpoint
CREATE TRIGGER `analytics_of_new_levels` AFTER INSERT ON `points_levels` BEGIN INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`, `asked`, `progress`) SELECT new.`tenant_id`, 'analytics', '', `now` + 60000, 1, json_object('until', `now`) FROM ( SELECT coalesce((SELECT `now` FROM `test_clock`), unixepoch() * 1000) AS `now`) WHERE true ON CONFLICT DO UPDATE SET `asked` = 1 WHERE `asked` = 0; END;
--> statement-breakpoint
CREATE TRIGGER `analytics_of_changed_levels` AFTER UPDATE OF `points`, `deleted` ON `points_levels` BEGIN INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`, `asked`, `progress`) SELECT new.`tenant_id`, 'analytics', '', `now` + 60000, 1, json_object('until', `now`) FROM ( SELECT coalesce((SELECT `now` FROM `test_clock`), unixepoch() * 1000) AS `now`) WHERE true ON CONFLICT DO UPDATE SET `asked` = 1 WHERE `asked` = 0; END;
--> statement-breakpoint
-- Counts for each database the tenants whose directory names it, so that nobody has to read all directories.
CREATE TRIGGER `directory_added` AFTER INSERT ON `directory` BEGIN INSERT INTO `held_databases` (`name`, `tenants`) SELECT DISTINCT `value` ->> 1, 1 FROM json_each(new.`places`) WHERE true ON CONFLICT (`name`) DO UPDATE SET `tenants` = `tenants` + 1; END;
--> statement-breakpoint
CREATE TRIGGER `directory_changed` AFTER UPDATE OF `places` ON `directory` WHEN new.`places` IS NOT old.`places` BEGIN UPDATE `held_databases` SET `tenants` = `tenants` - 1 WHERE `name` IN (SELECT `value` ->> 1 FROM json_each(old.`places`)); INSERT INTO `held_databases` (`name`, `tenants`) SELECT DISTINCT `value` ->> 1, 1 FROM json_each(new.`places`) WHERE true ON CONFLICT (`name`) DO UPDATE SET `tenants` = `tenants` + 1; END;
--> statement-breakpoint
CREATE TRIGGER `directory_removed` AFTER DELETE ON `directory` BEGIN UPDATE `held_databases` SET `tenants` = `tenants` - 1 WHERE `name` IN (SELECT `value` ->> 1 FROM json_each(old.`places`)); END;
--> statement-breakpoint
-- The tenant of an installation that makes no other ones.
INSERT INTO `tenants` (`id`, `customer_id`, `name`, `created`, `updated`)
VALUES ('00000000-0000-7000-8000-000000000000', '00000000-0000-7000-8000-000000000000', 'Default', 0, 0);
--> statement-breakpoint
-- The database was never brought back to an earlier moment.
INSERT INTO `restores` (`id`, `epoch`, `redone`) VALUES (1, 0, 0);
--> statement-breakpoint
-- Each later migration ends with an UPDATE of this row.
INSERT INTO `schema_version` (`id`, `migration`, `name`, `oldest`) VALUES (1, 0, '0000_first', 0);
