import { type Check, DIFFERENCES_MAX } from '#ledger/check.ts'
import { accountsMigrations } from '#main/stores.ts'
import { dialectOf } from '#store/dialects.ts'
import type { Engine } from '#store/engine.ts'
import { lackingParts } from '#store/lacking-parts.ts'

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
