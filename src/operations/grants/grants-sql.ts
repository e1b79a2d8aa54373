import { type Role, rightsOf, type StoreName } from './rights.ts'

export interface GrantsInput {
  readonly role: Role
  /** Name in the database. */
  readonly databaseRole: string
  /** All of its stores unless given. */
  readonly store?: StoreName | undefined
}

/** Statements for the owner of the tables, which may be repeated. */
export function grantsSql({ role, databaseRole, store }: GrantsInput): string {
  const name = `"${databaseRole}"`
  const tables = rightsOf(role).filter((each) => store === undefined || each.store === store)
  const stores = [...new Set(tables.map((each) => each.store))]
  return [
    `-- Rights of "sexton ${role}". Run this as the owner of the tables, again after each "sexton migrate".`,
    '-- "create role" needs CREATEROLE; without it, have an administrator create the role first.',
    `-- The role gets no password here: set one with \\password ${databaseRole}`,
    'do $$ begin',
    `  if not exists (select from pg_roles where rolname = '${databaseRole}') then`,
    `    create role ${name} login;`,
    '  end if;',
    'end $$;',
    ...stores.map((each) => `grant usage on schema ${each} to ${name};`),
    ...tables.map((each) => {
      return `grant ${each.rights.join(', ')} on ${each.store}.${each.table} to ${name};`
    }),
    '',
  ].join('\n')
}

/** Refuses what would have to be quoted within quotes. */
export function isDatabaseRole(text: string): boolean {
  return /^[\w.-]{1,63}$/.test(text)
}
