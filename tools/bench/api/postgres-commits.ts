import postgres from 'postgres'

/** Transactions that a database has committed so far. */
export async function postgresCommits(url: string): Promise<number> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    const [row] = await sql<{ commits: string }[]>`
      select xact_commit as commits from pg_stat_database where datname = current_database()`
    return Number(row?.commits ?? Number.NaN)
  } finally {
    await sql.end()
  }
}
