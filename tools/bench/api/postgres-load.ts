import { Client, type QueryResult } from 'pg'

/** Transactions that a database has committed so far. */
export async function postgresCommits(url: string): Promise<number> {
  const { rows } = await ask<{ commits: string }>(
    url,
    'select xact_commit as commits from pg_stat_database where datname = current_database()',
  )
  return Number(rows[0]?.commits ?? Number.NaN)
}

/** Resolves when the server has written into its tables what its log holds. */
export async function checkpointPostgres(url: string): Promise<void> {
  await ask(url, 'checkpoint')
}

async function ask<Row extends object>(url: string, statement: string): Promise<QueryResult<Row>> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query<Row>(statement)
  } finally {
    await client.end()
  }
}
