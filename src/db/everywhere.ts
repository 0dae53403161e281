import type { Statement } from './statement'

/**
 * The statements that begin work on users (see src/jobs/due-work.repository.ts). If a change of the
 * configuration begins such work, each database of the tenant begins it for its own users (B4). The first
 * database notes them by their names. The tenant is ?1.
 */
export const EVERYWHERE = {
  makeDue: `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) SELECT id, ?2, ?3, ?4 FROM tenants WHERE id = ?1
    AND status = 'active'
  ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1`,
  beginWalk: `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT DO UPDATE SET due_at = excluded.due_at, asked = asked + 1, progress = NULL`,
  beginOrExpect: `
  INSERT INTO due_work (tenant_id, kind, subject, due_at, progress) VALUES (?1, ?2, '', ?3, ?4)
  ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1`,
  join: `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) VALUES (?1, ?2, '', ?3)
  ON CONFLICT DO UPDATE SET due_at = min(due_at, ?3), asked = asked + 1, progress = json_patch(progress, ?4)`,
} as const

/** The name of such a statement. */
export type Everywhere = keyof typeof EVERYWHERE

export const isEverywhere = (name: string): name is Everywhere => Object.hasOwn(EVERYWHERE, name)

/** Such a statement with its parameters. */
export const everywhere = (name: Everywhere, ...params: unknown[]): Statement => ({
  sql: EVERYWHERE[name],
  params,
  everywhere: name,
})

/** The statement that was noted by its name. */
export const statementOf = ({ name, params }: { name: Everywhere; params: unknown[] }): Statement =>
  everywhere(name, ...params)
