import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Reader } from './client.ts'
import type { Ask, Reply } from './server.ts'

/** Many open streams on one server: memory of each, time from a block to the event, and a reconnect storm. */
const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '50' },
  },
})
const streams = Number(values.streams)
const rounds = Number(values.rounds)

const AT_ONCE = 100
const ROUND_MS = 200
const MISSED = 20
const ARRIVED_MS = 60_000

const child = fork(join(import.meta.dirname, 'server.ts'), { execArgv: ['--expose-gc'] })
const [{ origin = '', secrets = [] }]: [Reply] = (await once(child, 'message')) as [Reply]
const readers = Array.from({ length: streams }, () => new Reader())
try {
  await warmUp()
  const before = await ask({ do: 'memory' })
  await openAll()
  const after = await ask({ do: 'memory' })
  assert.equal(after.open, streams)
  const each = ((after.rss ?? 0) - (before.rss ?? 0)) / streams / 1_000
  print(`${streams} open streams: ${each.toFixed(1)} kB of resident memory each`)
  await measureDelay()
  await storm()
  const { calls } = await ask({ do: 'calls' })
  print(`${calls} calls were charged`)
} finally {
  for (const reader of readers) reader.close()
  child.send({ do: 'end' } satisfies Ask)
  await once(child, 'exit')
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function ask(what: Ask): Promise<Reply> {
  child.send(what)
  const [reply] = await once(child, 'message')
  return reply as Reply
}

/** What the first streams compile and cache is not the streams'. */
async function warmUp(): Promise<void> {
  const some = Array.from({ length: AT_ONCE }, () => new Reader())
  await Promise.all(some.map(open))
  for (let round = 0; round < 5; round += 1) await ask({ do: 'burn', count: 1 })
  for (const reader of some) reader.close()
  await sleep(2_000)
}

/** Callers come in turn. */
function open(reader: Reader, index: number): Promise<void> {
  return reader.open(origin, secrets[index % secrets.length] ?? '')
}

async function openAll(): Promise<void> {
  for (let from = 0; from < streams; from += AT_ONCE)
    await Promise.all(readers.slice(from, from + AT_ONCE).map(open))
}

async function measureDelay(): Promise<void> {
  const replies: Reply[] = []
  for (let round = 0; round < rounds; round += 1) {
    replies.push(await ask({ do: 'burn', count: 1 }))
    await sleep(ROUND_MS)
  }
  await arrived(rounds)
  const of = (from: (each: Reply) => number | undefined) =>
    readers.flatMap(({ arrivedMs }) =>
      arrivedMs.map((ms, round) => ms - (from(replies[round] ?? {}) ?? 0)),
    )
  printDelays(
    'commit to event',
    of((each) => each.committedMs),
  )
  printDelays(
    'block to event',
    of((each) => each.blockMs),
  )
}

function printDelays(name: string, delays: number[]): void {
  delays.sort((a, b) => a - b)
  const at = (share: number) => delays[Math.floor((delays.length - 1) * share)]
  print(
    `${name}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms (${delays.length} events)`,
  )
}

/** All connections break, blocks come, and everyone is back at once. */
async function storm(): Promise<void> {
  for (const reader of readers) reader.close()
  await ask({ do: 'burn', count: MISSED })
  await ask({ do: 'burn', count: MISSED })
  const started = performance.now()
  await Promise.all(readers.map(open))
  await arrived(rounds + 2 * MISSED)
  const seconds = ((performance.now() - started) / 1_000).toFixed(2)
  print(
    `reconnect storm: ${streams} readers had the ${2 * MISSED} events they missed after ${seconds} s`,
  )
  const [first] = readers
  for (const { sequences } of readers) {
    assert.deepEqual(sequences, first?.sequences, 'a reader missed or repeated an event')
    assert.ok(sequences.every((each, index) => each > (sequences[index - 1] ?? 0)))
  }
}

async function arrived(count: number): Promise<void> {
  const until = performance.now() + ARRIVED_MS
  while (readers.some(({ sequences }) => sequences.length < count)) {
    assert.ok(performance.now() < until, `not every reader had ${count} events`)
    await sleep(20)
  }
  assert.ok(readers.every(({ sequences }) => sequences.length === count))
}
