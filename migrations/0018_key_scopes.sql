ALTER TABLE `api_keys` ADD `scope` text DEFAULT 'write' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `expires` integer;--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 18, `name` = '0018_key_scopes', `oldest` = 15;
