ALTER TABLE `webhooks` ADD `previous_secret` text;--> statement-breakpoint
ALTER TABLE `webhooks` ADD `gone_at` integer;--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 25, `name` = '0025_webhook_secrets_and_ends', `oldest` = max(15, `oldest`);
