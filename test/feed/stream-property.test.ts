import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { asLateAs, live, livelyBlocks } from '../chain-builder/random-life.ts'
import { startPostgres, type TestPostgres } from '../postgres.ts'
import { eventually } from '../world.ts'
import { StreamClient } from './stream-client.ts'
import { type StreamWorld, startStreamWorld } from './stream-world.ts'

/** A few in every run of the tests, 300 in `npm run test:long`. */
const runs = Number(process.env.RANDOM_RUNS ?? (process.env.TEST_LONG === undefined ? 1 : 300))
/** On a busy machine one run has taken more than ten seconds. */
const msPerRunMax = 60_000

const client = fc.nat(3)

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('grow'), blocks: livelyBlocks }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('fork'),
      depth: fc.integer({ min: 1, max: 7 }),
      blocks: livelyBlocks,
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('index') }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('connect'), client, replica: fc.nat(1) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('disconnect'), client }) },
)

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

let server: TestPostgres
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

for (const engine of ['SQLite', 'PostgreSQL'] as const)
  test(`${engine}: clients of two replicas who come and go end up with the lists`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const databaseUrl = engine === 'SQLite' ? undefined : await server.createDatabase()
        const open = () => openPostgres({ url: databaseUrl ?? '', schema: 'register' })
        const world = await startStreamWorld({}, databaseUrl === undefined ? [] : [open(), open()])
        try {
          await liveThrough(world, steps)
        } finally {
          await world.end()
        }
      }),
      { numRuns: runs, interruptAfterTimeLimit: runs * msPerRunMax },
    )
  })

async function liveThrough(world: StreamWorld, steps: readonly Step[]): Promise<void> {
  const { publicId, secret } = await world.callers.mint()
  await world.callers.fund(publicId, 1_000_000n)
  const origins = [world.origin, await world.another()]
  const connect = (of: StreamClient | undefined, replica: number) =>
    of?.connect(origins[replica] ?? '', secret)
  const clients = Array.from({ length: 4 }, () => new StreamClient(world.routes))
  try {
    for (const each of steps) {
      if (each.do === 'connect') connect(clients[each.client], each.replica)
      else if (each.do === 'disconnect') await clients[each.client]?.disconnect()
      else await takeStep(world, each)
    }
    await world.catchUp()
    for (const [index, each] of clients.entries()) {
      connect(each, index % 2)
      await eventually(() => each.isLikeLists(), 10_000)
    }
  } finally {
    for (const each of clients) await each.disconnect()
  }
}

async function takeStep(world: StreamWorld, step: Step): Promise<void> {
  const { base } = world
  const [chain] = world.ecosystem.chains
  assert.ok(chain !== undefined)
  if (step.do === 'index') await world.index.advance(chain)
  if (step.do === 'grow') base.chain = live(base.chain, 'base', step.blocks)
  if (step.do === 'fork') {
    const { number } = base.chain.head
    const forked = live(base.chain.fork(Math.max(0, number - step.depth)), 'base', step.blocks)
    base.chain = asLateAs(base.chain, forked.addEmpty(Math.max(0, number - forked.head.number)))
  }
}
