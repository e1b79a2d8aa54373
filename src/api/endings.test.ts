import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { guardCall } from '#accounts/metering/abuse-guard.ts'
import { anonymousCaller } from '#accounts/metering/callers.ts'
import { sleep } from '#base/async.ts'
import { type Engine, StoreError } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { answer } from '#route.ts'
import {
  type Harness as Accounts,
  createHarness,
  HARNESS_MIGRATIONS,
} from '#test/callers/callers-harness.ts'
import { type Harness, startHarness } from '#test/http/api-harness.ts'
import type { Moment } from '#test/killed-at-commit.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, type OpenStore } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

interface World {
  readonly api: Harness
  readonly accounts: Accounts
  readonly opened: OpenStore
  readonly store: { isLost: boolean; isDown: boolean }
}

interface Ending {
  readonly end: string
  /** The status of the last answer; undefined where none is read. */
  readonly status: number | undefined
  readonly charged: number
  act(world: World): Promise<number | undefined>
}

const ask = async ({ api }: World, path = '/api/thing', init: RequestInit = {}) => {
  const response = await fetch(api.origin + path, init)
  await response.arrayBuffer()
  return response.status
}

const failing = (outcome: Harness['outcome']) => (world: World) => {
  world.api.outcome = outcome
  return ask(world)
}

const THING = 'GET /api/thing HTTP/1.1\r\nHost: x\r\n\r\n'

async function resetWhileWorking(world: World): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const working = Promise.withResolvers<void>()
  world.api.outcome = async () => {
    working.resolve()
    await promise
    return answer(200, {})
  }
  const socket = connect({ port: world.api.port, host: '127.0.0.1' })
  socket.on('error', () => undefined)
  socket.write(THING)
  await working.promise
  socket.resetAndDestroy()
  await sleep(100)
  resolve()
  await sleep(100)
  return undefined
}

/**
 * A day's row that finds no room. SQLite's own limit is real; PostgreSQL raises the error that a
 * failed write raises (`test/accounts/break-stores.ts` makes its writes fail).
 */
async function fillDisk({ engine }: OpenStore): Promise<void> {
  await engine.write(async (connection) => {
    if (engine.dialect === 'sqlite') {
      await connection.run(sql`create table filler (bytes blob)`)
      await connection.run(sql`create trigger needs_room before insert on usage_days
        begin insert into filler values (zeroblob(1000000)); end`)
      await connection.run(sql`pragma max_page_count = 1`)
    } else {
      await connection.run(sql`create function needs_room() returns trigger
        language plpgsql as 'begin raise disk_full; end'`)
      await connection.run(sql`create trigger needs_room before insert on usage_days
        for each row execute function needs_room()`)
    }
  })
}

const killed = (moment: Moment) => async (world: World) => {
  const { engine, at } = world.opened
  const program = join(import.meta.dirname, '../../test/killed-at-commit.ts')
  const child = spawn(process.execPath, [program, engine.dialect, at, moment], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  const [origin] = await Promise.race([once(child.stdout, 'data'), exit])
  await assert.rejects(fetch(`${origin}/api/thing`))
  assert.deepEqual(await exit, [null, 'SIGKILL'])
  return undefined
}

async function useUp(world: World): Promise<void> {
  for (let call = 0; call < 5; call += 1) assert.equal(await ask(world), 200)
}

const ENDINGS: readonly Ending[] = [
  { end: '200', status: 200, charged: 1, act: (world) => ask(world) },
  {
    end: '200 of HEAD',
    status: 200,
    charged: 1,
    act: (world) => ask(world, undefined, { method: 'HEAD' }),
  },
  {
    end: '304',
    status: 304,
    charged: 1,
    async act(world) {
      const first = await fetch(`${world.api.origin}/api/thing`)
      await first.arrayBuffer()
      return ask(world, undefined, {
        headers: { 'if-none-match': first.headers.get('etag') ?? '' },
      })
    },
  },
  {
    end: '400 of a parameter',
    status: 400,
    charged: 0,
    act: (world) => ask(world, '/api/thing?limit=0'),
  },
  {
    end: '429 of the guard',
    status: 429,
    charged: 0,
    act(world) {
      const caller = anonymousCaller(world.api.ctx, '127.0.0.1')
      while (guardCall(world.api.ctx, caller, caller.bucket) === undefined);
      return ask(world)
    },
  },
  {
    end: '500 of a throw',
    status: 500,
    charged: 0,
    act: failing(() => Promise.reject(new Error('bug'))),
  },
  {
    end: '500 of a body that cannot be written',
    status: 500,
    charged: 0,
    act: failing(async () => answer(200, 1n)),
  },
  {
    end: '402',
    status: 402,
    charged: 5,
    async act(world) {
      await useUp(world)
      return ask(world)
    },
  },
  {
    end: '503 of a store that is down',
    status: 503,
    charged: 0,
    async act(world) {
      world.store.isDown = true
      const status = await ask(world)
      world.store.isDown = false
      return status
    },
  },
  {
    end: '503 of a commit that stood and whose response is lost',
    status: 503,
    charged: 1,
    async act(world) {
      world.store.isLost = true
      const status = await ask(world)
      world.store.isLost = false
      return status
    },
  },
  {
    end: '503 of a full disk',
    status: 503,
    charged: 0,
    async act(world) {
      await fillDisk(world.opened)
      return ask(world)
    },
  },
  {
    end: 'its process killed before the commit',
    status: undefined,
    charged: 0,
    act: killed('before the commit'),
  },
  {
    end: 'its process killed between commit and answer',
    status: undefined,
    charged: 1,
    act: killed('after the commit'),
  },
  { end: 'a reset while it works', status: undefined, charged: 0, act: resetWhileWorking },
]

for (const { end, status, charged, act } of ENDINGS)
  onBoth(`a call that ends with ${end} is charged ${charged}`, (opened) =>
    inWorld(opened, async (world) => {
      assert.equal(await act(world), status)
      await turn()
      assert.equal(await chargedTo(world), charged)
    }),
  )

async function inWorld(opened: OpenStore, work: (world: World) => Promise<void>): Promise<void> {
  const store = { isLost: false, isDown: false }
  const accounts = createHarness(breakable(opened.engine, store))
  const api = await startHarness({ ctx: accounts.metering.ctx })
  try {
    await work({ api, accounts, opened, store })
  } finally {
    await api.server.stop()
  }
}

/** Reports an error where `isLost`, after the commit; refuses everything where `isDown`. */
function breakable(engine: Engine, store: World['store']): Engine {
  return {
    ...engine,
    async write(work) {
      if (store.isDown) throw new StoreError('down')
      if (!store.isLost) return engine.write(work)
      await engine.write(work)
      throw new StoreError('the connection is lost at the commit')
    },
  }
}

async function chargedTo({ accounts }: World): Promise<number> {
  const { metering } = accounts
  return (await metering.meter.rateLimit(metering.anonymous('127.0.0.1'))).requestCount
}
