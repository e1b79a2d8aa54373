import { Client } from 'pg'

/** Transactions that a database has committed so far. */
export async function postgresCommits(url: string): Promise<number> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ commits: string }>(
      'select xact_commit as commits from pg_stat_database where datname = current_database()',
    )
    return Number(rows[0]?.commits ?? Number.NaN)
  } finally {
    await client.end()
  }
}
