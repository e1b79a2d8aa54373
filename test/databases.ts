import { createHash, randomBytes } from 'node:crypto'
import { Client } from 'pg'

/** New databases of this process, by names that no other process on the server uses. */
export function createDatabases(serverUrl: string) {
  const names: string[] = []
  const urlOf = (name: string) => Object.assign(new URL(serverUrl), { pathname: name }).href
  const prefix = `fresh_${randomBytes(6).toString('hex')}`
  const nameOf = (databaseUrl: string) => new URL(databaseUrl).pathname.slice(1)
  const create = async (copiedUrl?: string): Promise<string> => {
    const name = `${prefix}_${names.length + 1}`
    names.push(name)
    const copied = copiedUrl === undefined ? 'template0' : nameOf(copiedUrl)
    // Copying the files takes half of the time that logging them takes.
    const strategy = 'strategy file_copy'
    await commands(serverUrl, [`create database ${name} template ${copied} ${strategy}`])
    return urlOf(name)
  }
  return {
    create,
    async filled(key: string, fill: (url: string) => Promise<void>): Promise<string> {
      const name = `filled_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`
      const client = new Client({ connectionString: serverUrl })
      await client.connect()
      try {
        // Held until the connection ends.
        await client.query('select pg_advisory_lock(hashtext($1))', [name])
        const found = await client.query('select from pg_database where datname = $1', [name])
        if (found.rowCount === 0) {
          const draft = await create()
          await fill(draft)
          await client.query(`alter database ${nameOf(draft)} rename to ${name}`)
        }
      } finally {
        await client.end()
      }
      return urlOf(name)
    },
    async drop(): Promise<void> {
      const drops = names.splice(0).map((name) => `drop database if exists ${name} with (force)`)
      await commands(serverUrl, drops)
    },
  }
}

async function commands(url: string, statements: readonly string[]): Promise<void> {
  if (statements.length === 0) return
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
