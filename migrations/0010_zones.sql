-- The schedule of a tenant contains the canonical names of its users' zones, and the aliases that users have.
-- The statement that stores a user adds a name that no user had before, as since migration 0006. It now ignores
-- the letter case of the name, and adds at most 600 zones. All other changes write nothing here.
DROP TRIGGER `users_of_new_zone`;
--> statement-breakpoint
DROP TRIGGER `users_to_new_zone`;
--> statement-breakpoint
CREATE TRIGGER `users_of_new_zone` AFTER INSERT ON `users` WHEN new.`tz` IS NOT NULL BEGIN UPDATE `due_work` SET `progress` = json_insert(`progress`, '$.zones[#]', new.`tz`), `due_at` = min(`due_at`, new.`changed`) WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'schedule' AND `subject` = '' AND json_array_length(`progress`, '$.zones') < 600 AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.zones') WHERE `value` = new.`tz` COLLATE NOCASE) AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.aliases') WHERE `value` = new.`tz` COLLATE NOCASE); END;
--> statement-breakpoint
-- The second update is for users' own boosts, which go by the midnights of the new zone.
CREATE TRIGGER `users_to_new_zone` AFTER UPDATE OF `tz` ON `users` WHEN new.`tz` IS NOT old.`tz` BEGIN UPDATE `due_work` SET `progress` = json_insert(`progress`, '$.zones[#]', new.`tz`), `due_at` = min(`due_at`, new.`changed`) WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'schedule' AND `subject` = '' AND json_array_length(`progress`, '$.zones') < 600 AND new.`tz` IS NOT NULL AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.zones') WHERE `value` = new.`tz` COLLATE NOCASE) AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.aliases') WHERE `value` = new.`tz` COLLATE NOCASE); UPDATE `due_work` SET `due_at` = min(`due_at`, new.`changed`) WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'boosts' AND `subject` = '' AND EXISTS (SELECT 1 FROM `points_boosts` WHERE `user_iid` = new.`iid` AND `deleted` IS NULL); END;
