-- If a user is the first of the tenant in a zone, the statement that stores the user adds the zone to the
-- schedule. Otherwise the job would notice the zone only at the next time of another zone. All other changes
-- write nothing here.
CREATE TRIGGER `users_of_new_zone` AFTER INSERT ON `users` WHEN new.`tz` IS NOT NULL BEGIN UPDATE `due_work` SET `progress` = json_insert(`progress`, '$.zones[#]', new.`tz`), `due_at` = min(`due_at`, new.`changed`) WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'schedule' AND `subject` = '' AND `progress` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.zones') WHERE `value` = new.`tz`); END;
--> statement-breakpoint
-- The second update is for users' own boosts, which go by the midnights of the new zone.
CREATE TRIGGER `users_to_new_zone` AFTER UPDATE OF `tz` ON `users` WHEN new.`tz` IS NOT old.`tz` BEGIN UPDATE `due_work` SET `progress` = json_insert(`progress`, '$.zones[#]', new.`tz`), `due_at` = min(`due_at`, new.`changed`) WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'schedule' AND `subject` = '' AND `progress` IS NOT NULL AND new.`tz` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.zones') WHERE `value` = new.`tz`); UPDATE `due_work` SET `due_at` = min(`due_at`, new.`changed`) WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'boosts' AND `subject` = '' AND EXISTS (SELECT 1 FROM `points_boosts` WHERE `user_iid` = new.`iid` AND `deleted` IS NULL); END;
--> statement-breakpoint
CREATE INDEX `points_boosts_by_start` ON `points_boosts` (`tenant_id`,`start`) WHERE user_iid IS NOT NULL AND deleted IS NULL;
--> statement-breakpoint
CREATE INDEX `points_boosts_by_end` ON `points_boosts` (`tenant_id`,`end`) WHERE user_iid IS NOT NULL AND deleted IS NULL;
