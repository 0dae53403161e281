-- The schedule of a tenant knows the zones of its users by their canonical names, and the aliases that users have for them. A row of the
-- schedule learns of a name that no user had before in the statement that stores the user, as since migration 0006; now whatever letter
-- case the name has, and 600 zones at most. Of all other changes this writes nothing.
DROP TRIGGER `users_of_new_zone`;
--> statement-breakpoint
DROP TRIGGER `users_to_new_zone`;
--> statement-breakpoint
CREATE TRIGGER `users_of_new_zone` AFTER INSERT ON `users` WHEN new.`tz` IS NOT NULL
BEGIN
	UPDATE `due_work` SET `progress` = json_insert(`progress`, '$.zones[#]', new.`tz`), `due_at` = min(`due_at`, new.`changed`)
	WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'schedule' AND `subject` = '' AND json_array_length(`progress`, '$.zones') < 600
		AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.zones') WHERE `value` = new.`tz` COLLATE NOCASE)
		AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.aliases') WHERE `value` = new.`tz` COLLATE NOCASE);
END;
--> statement-breakpoint
CREATE TRIGGER `users_to_new_zone` AFTER UPDATE OF `tz` ON `users` WHEN new.`tz` IS NOT old.`tz`
BEGIN
	UPDATE `due_work` SET `progress` = json_insert(`progress`, '$.zones[#]', new.`tz`), `due_at` = min(`due_at`, new.`changed`)
	WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'schedule' AND `subject` = '' AND json_array_length(`progress`, '$.zones') < 600
		AND new.`tz` IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.zones') WHERE `value` = new.`tz` COLLATE NOCASE)
		AND NOT EXISTS (SELECT 1 FROM json_each(`due_work`.`progress`, '$.aliases') WHERE `value` = new.`tz` COLLATE NOCASE);
	-- A user's own boosts go by the midnights of the new zone.
	UPDATE `due_work` SET `due_at` = min(`due_at`, new.`changed`)
	WHERE `tenant_id` = new.`tenant_id` AND `kind` = 'boosts' AND `subject` = ''
		AND EXISTS (SELECT 1 FROM `points_boosts` WHERE `user_iid` = new.`iid` AND `deleted` IS NULL);
END;
