import { createClient, getStats, listBurns, rows, SextonError } from 'sexton-client'

// node examples/burns.ts [url]: what was burned in the last seven days. SEXTON_KEY is optional.
const client = createClient({
  baseUrl: process.argv[2] ?? 'http://localhost:4020',
  ...(process.env.SEXTON_KEY && { key: process.env.SEXTON_KEY }),
})
const from = String(Math.floor(Date.now() / 1000) - 7 * 86_400)
try {
  for await (const burn of rows(listBurns, client, { from, limit: 100 }))
    process.stdout.write(`${burn.timestamp} ${burn.chain} ${burn.amount} ${burn.token}\n`)
  const { data, quota } = await getStats(client)
  process.stdout.write(`${data.totalBurned} burned in all; ${quota?.remaining} calls left today\n`)
} catch (error) {
  if (!(error instanceof SextonError)) throw error
  process.stderr.write(`${error.code}: ${error.message}\n`)
  process.exitCode = 1
}
