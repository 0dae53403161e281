CREATE TABLE `devices` (
	`user_iid` text NOT NULL,
	`token` text NOT NULL,
	`tenant_id` text NOT NULL,
	`user_id` text NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`user_iid`, `token`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `devices_by_token` ON `devices` (`tenant_id`,`token`,`at`);--> statement-breakpoint
INSERT INTO `devices` (`user_iid`, `token`, `tenant_id`, `user_id`, `at`)
SELECT u.`iid`, t.value, u.`tenant_id`, u.`id`, u.`created` FROM `users` u, json_each(u.`device_tokens`) t
WHERE u.`device_tokens` IS NOT NULL ON CONFLICT DO NOTHING;--> statement-breakpoint
-- Of users who share a token, the last one who has sent it keeps it. The history says who that is.
UPDATE `devices` SET `at` = coalesce((SELECT max(c.`at`) FROM `user_changes` c, json_each(c.`entries`, '$.fields') f
  WHERE c.`user_iid` = unhex(`devices`.`user_iid`, '-') AND f.value ->> 0 = 'deviceTokens'), `at`)
WHERE EXISTS (SELECT 1 FROM `devices` o WHERE o.`tenant_id` = `devices`.`tenant_id` AND o.`token` = `devices`.`token`
  AND o.`user_iid` <> `devices`.`user_iid`);--> statement-breakpoint
INSERT INTO `due_work` (`tenant_id`, `kind`, `subject`, `due_at`)
SELECT d.`tenant_id`, 'devices', d.`user_id`, unixepoch() * 1000 FROM `devices` d JOIN `tenants` t ON t.`id` = d.`tenant_id`
WHERE EXISTS (SELECT 1 FROM `devices` o WHERE o.`tenant_id` = d.`tenant_id` AND o.`token` = d.`token`
  AND o.`user_iid` <> d.`user_iid`) GROUP BY 1, 2, 3 ON CONFLICT DO NOTHING;--> statement-breakpoint
UPDATE `schema_version` SET `migration` = 27, `name` = '0027_devices', `oldest` = max(15, `oldest`);
