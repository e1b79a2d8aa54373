import { type Check, DIFFERENCES_MAX } from '#accounts/ledger/check.ts'
import { accountsMigrations } from '#main/stores.ts'
import { dialectOf, type StoreState } from '#store/dialects.ts'
import type { Engine, Migration } from '#store/engine.ts'
import { column, type Row } from '#store/sql.ts'

/** Runs within `inScratch` of the dialect. */
export function schemaCheck(dialect: Engine['dialect']): Check {
  return {
    name: 'tables, keys and guards are those of a new store',
    async run(connection) {
      const lacking = await lackingParts({ connection, dialect }, accountsMigrations)
      return lacking
        .map((subject) => ({ subject, detail: 'changed, disabled or missing' }))
        .slice(0, DIFFERENCES_MAX)
    },
  }
}

export function guardSettingChecks(dialect: Engine['dialect']): readonly Check[] {
  const { guardsOff } = dialectOf({ dialect })
  if (guardsOff === undefined) return []
  return [
    {
      name: 'no database or role setting disables the guards',
      run: async (connection) =>
        (await guardsOff(connection)).map((subject) => ({
          subject,
          detail: 'sets session_replication_role = replica, which disables triggers',
        })),
    },
  ]
}

/** A table, constraint, index or trigger, in the words of the database. */
interface SchemaPart {
  readonly name: string
  readonly text: string
}

/** Names of what a newly migrated store has and this one has not, disabled or changed. */
async function lackingParts(
  { connection, dialect }: StoreState,
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  const { schemaParts, freshParts } = dialectOf({ dialect })
  const standing = new Set((await schemaParts(connection)).map((row) => toPart(row).text))
  const wanted = (await freshParts(connection, migrations)).map(toPart)
  return wanted.flatMap(({ name, text }) => (standing.has(text) ? [] : [name]))
}

/** Stores of earlier versions differ in case, white space and the schema's name. */
function toPart(row: Row): SchemaPart {
  const text = column.text(row, 'text').replace(SCHEMA, '').replace(/\s+/g, ' ')
  return { name: column.text(row, 'name').replace(SCHEMA, ''), text: text.toLowerCase() }
}

const SCHEMA = /\b(?:accounts|register|pg_temp(?:_\d+)?)\./g
