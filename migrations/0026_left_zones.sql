ALTER TABLE `users` ADD `left_zones` text;--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 26, `name` = '0026_left_zones', `oldest` = max(15, `oldest`);
