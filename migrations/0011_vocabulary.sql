-- Tables and columns take the field's words: what a user was last sent, what is still to be sent, counters, distributions.
ALTER TABLE `points_told` RENAME TO `points_notifications`;
--> statement-breakpoint
DROP INDEX `points_told_by_due`;
--> statement-breakpoint
CREATE INDEX `points_notifications_by_due` ON `points_notifications` (`tenant_id`,`due_at`) WHERE due_at IS NOT NULL;
--> statement-breakpoint
ALTER TABLE `notices` RENAME TO `pending_notifications`;
--> statement-breakpoint
ALTER TABLE `tallies` RENAME TO `tenant_counters`;
--> statement-breakpoint
ALTER TABLE `change_spreads` RENAME TO `change_distributions`;
--> statement-breakpoint
ALTER TABLE `users` RENAME COLUMN `touched` TO `last_seq_by_input`;
--> statement-breakpoint
ALTER TABLE `streak_runs` RENAME COLUMN `marks` TO `history`;
--> statement-breakpoint
ALTER TABLE `points_boosts` RENAME COLUMN `told` TO `notified`;
--> statement-breakpoint
-- The same words in JSON. No value can contain such a key: the only texts in a streak are ids and the history itself.
UPDATE `users` SET `streak` = replace(replace(`streak`, '"marks":', '"history":'), '"told":', '"notified":')
WHERE `streak` IS NOT NULL;
--> statement-breakpoint
UPDATE `due_work` SET `kind` = 'delivery' WHERE `kind` = 'courier';
--> statement-breakpoint
UPDATE `due_work` SET `kind` = 'completions' WHERE `kind` = 'notices';
--> statement-breakpoint
UPDATE `due_work` SET `kind` = 'distributions' WHERE `kind` = 'spreads';
--> statement-breakpoint
UPDATE `due_work` SET `progress` = replace(`progress`, '"pass":', '"sweep":') WHERE `kind` IN ('ticks', 'boosts', 'schedule');
--> statement-breakpoint
-- They are built again, from the first user on: a build in progress has lost what it has counted.
DELETE FROM `change_distributions`;
--> statement-breakpoint
UPDATE `due_work` SET `progress` = NULL, `due_at` = 0 WHERE `kind` = 'distributions';
