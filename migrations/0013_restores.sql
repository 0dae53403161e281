CREATE TABLE `restores` (
	`id` integer PRIMARY KEY NOT NULL,
	`epoch` integer NOT NULL,
	`redone` integer NOT NULL,
	`progress` text
);
--> statement-breakpoint
ALTER TABLE `leaderboards` ADD `upkeep` text;
--> statement-breakpoint
-- The database was never brought back to an earlier moment.
INSERT INTO `restores` (`id`, `epoch`, `redone`) VALUES (1, 0, 0);
--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 13, `name` = '0013_restores', `oldest` = 11;
