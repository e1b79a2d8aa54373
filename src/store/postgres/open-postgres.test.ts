import { after } from 'node:test'
import { startPostgres } from '#test/postgres.ts'
import { describeEngine } from '../conformance.ts'
import { openPostgres } from './open-postgres.ts'

const postgres = await startPostgres()
after(() => postgres.stop())

describeEngine('PostgreSQL', async () =>
  openPostgres({ url: await postgres.createDatabase(), schema: 'register' }),
)
