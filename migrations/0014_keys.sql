ALTER TABLE `points_boosts` ADD `key` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `points_triggers` ADD `key` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `notification_templates` ADD `key` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `key` text DEFAULT '' NOT NULL;--> statement-breakpoint
-- Existing resources get the keys that new ones get (src/configuration/derived-keys.rules.ts).
UPDATE `points_triggers` SET `key` = named.base || CASE named.place WHEN 1 THEN '' ELSE '-' || named.place END
FROM (
  SELECT based.no, based.base, row_number() OVER (PARTITION BY based.scope, based.base ORDER BY based.no) AS place
  FROM (SELECT x.`no`, x.`system_id` AS scope, substr(CASE x.`type`
      WHEN 'metric' THEN 'metric-' || coalesce((SELECT m.`key` FROM `metrics` m WHERE m.`id` = x.`metric_id`) || '-' || x.`metric_threshold`, 'unknown')
      WHEN 'achievement' THEN 'achievement-' || coalesce((SELECT a.`key` FROM `achievements` a WHERE a.`id` = x.`achievement_id`), 'unknown')
      WHEN 'streak' THEN 'streak-' || coalesce(x.`streak_length`, 'unknown')
      WHEN 'time' THEN 'time-' || coalesce(x.`time_interval` || '-' || x.`time_unit`, 'unknown')
      ELSE x.`type` END, 1, 200) AS base FROM `points_triggers` x
    WHERE x.`deleted` IS NULL) based
) named WHERE named.no = `points_triggers`.`no`;--> statement-breakpoint
-- A key with a suffix may equal another derived key: the later row gets its id as suffix.
UPDATE `points_triggers` SET `key` = substr(`key`, 1, 200) || '-' || `id`
WHERE `deleted` IS NULL AND EXISTS (
  SELECT 1 FROM `points_triggers` y WHERE y.`deleted` IS NULL AND y.`system_id` = `points_triggers`.`system_id`
    AND y.`key` = `points_triggers`.`key` AND y.`no` < `points_triggers`.`no`);--> statement-breakpoint
-- Boosts: by their first date. A boost of one user: by its id.
UPDATE `points_boosts` SET `key` = named.base || CASE named.place WHEN 1 THEN '' ELSE '-' || named.place END
FROM (
  SELECT based.no, based.base, row_number() OVER (PARTITION BY based.scope, based.base ORDER BY based.no) AS place
  FROM (SELECT x.`no`, x.`system_id` AS scope, substr(CASE WHEN x.`user_iid` IS NULL THEN 'boost-' || x.`start` ELSE 'user-boost-' || substr(x.`id`, -12) END, 1, 200) AS base FROM `points_boosts` x
    WHERE x.`deleted` IS NULL) based
) named WHERE named.no = `points_boosts`.`no`;--> statement-breakpoint
-- A key with a suffix may equal another derived key: the later row gets its id as suffix.
UPDATE `points_boosts` SET `key` = substr(`key`, 1, 200) || '-' || `id`
WHERE `deleted` IS NULL AND EXISTS (
  SELECT 1 FROM `points_boosts` y WHERE y.`deleted` IS NULL AND y.`system_id` = `points_boosts`.`system_id`
    AND y.`key` = `points_boosts`.`key` AND y.`no` < `points_boosts`.`no`);--> statement-breakpoint
-- Webhooks: by the host of the URL.
UPDATE `webhooks` SET `key` = named.base || CASE named.place WHEN 1 THEN '' ELSE '-' || named.place END
FROM (
  SELECT based.no, based.base, row_number() OVER (PARTITION BY based.scope, based.base ORDER BY based.no) AS place
  FROM (SELECT x.`no`, x.`tenant_id` AS scope, substr(CASE WHEN replace(replace(replace(replace(substr(substr(x.`url`, instr(x.`url`, '://') + 3), 1, instr(substr(x.`url`, instr(x.`url`, '://') + 3) || '/', '/') - 1), '.', '-'), ':', '-'), '[', ''), ']', '') GLOB '*[^a-zA-Z0-9_-]*' OR replace(replace(replace(replace(substr(substr(x.`url`, instr(x.`url`, '://') + 3), 1, instr(substr(x.`url`, instr(x.`url`, '://') + 3) || '/', '/') - 1), '.', '-'), ':', '-'), '[', ''), ']', '') = '' THEN 'webhook' ELSE replace(replace(replace(replace(substr(substr(x.`url`, instr(x.`url`, '://') + 3), 1, instr(substr(x.`url`, instr(x.`url`, '://') + 3) || '/', '/') - 1), '.', '-'), ':', '-'), '[', ''), ']', '') END, 1, 200) AS base FROM `webhooks` x
    WHERE x.`deleted` IS NULL) based
) named WHERE named.no = `webhooks`.`no`;--> statement-breakpoint
-- A key with a suffix may equal another derived key: the later row gets its id as suffix.
UPDATE `webhooks` SET `key` = substr(`key`, 1, 200) || '-' || `id`
WHERE `deleted` IS NULL AND EXISTS (
  SELECT 1 FROM `webhooks` y WHERE y.`deleted` IS NULL AND y.`tenant_id` = `webhooks`.`tenant_id`
    AND y.`key` = `webhooks`.`key` AND y.`no` < `webhooks`.`no`);--> statement-breakpoint
-- Templates: by type and channel.
UPDATE `notification_templates` SET `key` = named.base || CASE named.place WHEN 1 THEN '' ELSE '-' || named.place END
FROM (
  SELECT based.no, based.base, row_number() OVER (PARTITION BY based.scope, based.base ORDER BY based.no) AS place
  FROM (SELECT x.`no`, x.`tenant_id` AS scope, substr(x.`type` || '-' || x.`channel`, 1, 200) AS base FROM `notification_templates` x
    WHERE x.`deleted` IS NULL) based
) named WHERE named.no = `notification_templates`.`no`;--> statement-breakpoint
-- A key with a suffix may equal another derived key: the later row gets its id as suffix.
UPDATE `notification_templates` SET `key` = substr(`key`, 1, 200) || '-' || `id`
WHERE `deleted` IS NULL AND EXISTS (
  SELECT 1 FROM `notification_templates` y WHERE y.`deleted` IS NULL AND y.`tenant_id` = `notification_templates`.`tenant_id`
    AND y.`key` = `notification_templates`.`key` AND y.`no` < `notification_templates`.`no`);--> statement-breakpoint
CREATE UNIQUE INDEX `points_boosts_key` ON `points_boosts` (`system_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `points_triggers_key` ON `points_triggers` (`system_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `notification_templates_key` ON `notification_templates` (`tenant_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `webhooks_key` ON `webhooks` (`tenant_id`,`key`) WHERE deleted IS NULL;--> statement-breakpoint
-- The version before creates resources without a key. They get the end of their id.
CREATE TRIGGER `points_triggers_without_key` AFTER INSERT ON `points_triggers` WHEN new.`key` = '' BEGIN UPDATE `points_triggers` SET `key` = new.`type` || '-' || substr(new.`id`, -12) WHERE `no` = new.`no`; END;
--> statement-breakpoint
CREATE TRIGGER `points_boosts_without_key` AFTER INSERT ON `points_boosts` WHEN new.`key` = '' BEGIN UPDATE `points_boosts` SET `key` = 'boost' || '-' || substr(new.`id`, -12) WHERE `no` = new.`no`; END;
--> statement-breakpoint
CREATE TRIGGER `webhooks_without_key` AFTER INSERT ON `webhooks` WHEN new.`key` = '' BEGIN UPDATE `webhooks` SET `key` = 'webhook' || '-' || substr(new.`id`, -12) WHERE `no` = new.`no`; END;
--> statement-breakpoint
CREATE TRIGGER `notification_templates_without_key` AFTER INSERT ON `notification_templates` WHEN new.`key` = '' BEGIN UPDATE `notification_templates` SET `key` = new.`type` || '-' || new.`channel` || '-' || substr(new.`id`, -12) WHERE `no` = new.`no`; END;
--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 14, `name` = '0014_keys', `oldest` = 11;
