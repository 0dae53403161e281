/** Whether an object's SQLite has any of our tables: all objects have `notes` first. */
export const hasTables = (sql: SqlStorage): boolean =>
  sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'notes'").toArray().length > 0
