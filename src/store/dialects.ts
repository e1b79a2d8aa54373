import type { Dialect } from './dialect.ts'
import type { Engine } from './engine.ts'
import { postgresDialect } from './postgres/postgres-dialect.ts'
import { sqliteDialect } from './sqlite/sqlite-dialect.ts'

const dialects: Readonly<Record<Engine['dialect'], Dialect>> = {
  sqlite: sqliteDialect,
  postgres: postgresDialect,
}

export function dialectOf({ dialect }: Pick<Engine, 'dialect'>): Dialect {
  return dialects[dialect]
}
