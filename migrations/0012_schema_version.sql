CREATE TABLE `schema_version` (
	`id` integer PRIMARY KEY NOT NULL,
	`migration` integer NOT NULL,
	`name` text NOT NULL,
	`oldest` integer NOT NULL
);
--> statement-breakpoint
-- Each later migration ends with an UPDATE of this row.
INSERT INTO `schema_version` (`id`, `migration`, `name`, `oldest`) VALUES (1, 12, '0012_schema_version', 11);
