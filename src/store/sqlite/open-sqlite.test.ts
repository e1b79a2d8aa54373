import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeEngine } from '../conformance.ts'
import { openSqlite } from './open-sqlite.ts'

describeEngine('SQLite', async () =>
  openSqlite({
    file: join(mkdtempSync(join(tmpdir(), 'sexton-')), 'store.sqlite'),
    durability: 'full',
  }),
)

describeEngine('SQLite that writes on a thread of its own', async () =>
  openSqlite({
    file: join(mkdtempSync(join(tmpdir(), 'sexton-')), 'store.sqlite'),
    durability: 'normal',
    bulk: true,
    ownThread: true,
  }),
)
