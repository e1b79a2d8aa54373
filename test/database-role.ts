import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { grantsSql } from '#operations/grants/grants-sql.ts'
import type { Role } from '#operations/grants/rights.ts'

export interface DatabaseRole {
  readonly name: string
  /** A URL of the same database, as this role. */
  readonly url: string
}

/** With the printed grants of these roles; its name is random, because other files share the server. */
export async function makeDatabaseRole(
  url: string,
  roles: readonly Role[] = [],
): Promise<DatabaseRole> {
  const name = `limited_${randomBytes(6).toString('hex')}`
  await runSql(url, `create role "${name}" login password 'one'`)
  for (const role of roles) await runSql(url, grantsSql({ role, databaseRole: name }))
  return { name, url: Object.assign(new URL(url), { username: name, password: 'one' }).href }
}

/** Any number of statements. */
export async function runSql(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}
