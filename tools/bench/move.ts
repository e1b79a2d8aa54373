import { parseArgs } from 'node:util'
import { startPostgres } from '#test/postgres.ts'
import { moveUnderTraffic } from '#test/upkeep/move-under-traffic.ts'

/** Promised: the longest time without answers, and no call that is lost or counted twice. */
const OUTAGE_MS_MAX = 5_000

const text = { type: 'string' } as const
const { values } = parseArgs({
  options: { keys: text, logs: text, 'free-days': text, 'paid-days': text, seconds: text },
})
const number = (value: string | undefined, otherwise: number) => Number(value ?? otherwise)
const print = (line: string) => process.stdout.write(`${line}\n`)

const postgres = await startPostgres({ durable: true })
try {
  const { traffic, moved, moveMs, audits, miscounted } = await moveUnderTraffic({
    databaseUrl: await postgres.createDatabase(),
    seeded: {
      keys: number(values.keys, 1_000),
      freeDays: number(values['free-days'], 0),
      paidDays: number(values['paid-days'], 0),
    },
    logs: number(values.logs, 1_000_000),
    connections: 32,
    pauseMs: 20,
    calmMs: number(values.seconds, 10) * 1_000,
    note: print,
  })
  const sum = (counts: ReadonlyMap<string, number>) =>
    [...counts.values()].reduce((total, each) => total + each, 0)
  const rows = (tables: Readonly<Record<string, { readonly rows: number }>>) =>
    Object.values(tables).reduce((total, each) => total + each.rows, 0)
  print(`answers of 200: ${sum(traffic.answered)} to ${traffic.answered.size} keys`)
  print(`503 metering_unavailable: ${traffic.unavailable}; refused connections: ${traffic.refused}`)
  print(`calls whose connection broke: ${sum(traffic.broken)}`)
  print(`longest time without answers: ${(traffic.outageMs / 1_000).toFixed(2)} s`)
  print(`frozen until the move ended: ${(moved.frozenMs / 1_000).toFixed(2)} s`)
  print(`the whole move: ${(moveMs / 1_000).toFixed(1)} s`)
  print(`rows: ${rows(moved.register)} of the register, ${rows(moved.accounts)} of the accounts`)
  print(`audits, old and new: exit ${audits.join(' and ')}`)
  print(`wrong answers: ${traffic.wrong.length} ${traffic.wrong[0] ?? ''}`)
  print(`keys counted wrongly: ${miscounted.length} ${miscounted[0] ?? ''}`)
  const isRight =
    traffic.wrong.length === 0 && miscounted.length === 0 && audits.every((code) => code === 0)
  if (!isRight || traffic.outageMs > OUTAGE_MS_MAX) process.exitCode = 1
} finally {
  await postgres.stop()
}
