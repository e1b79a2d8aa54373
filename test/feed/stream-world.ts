import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ApiDeps, createApi, type HttpServer } from '#api/server.ts'
import { isRefusal } from '#base/refusal.ts'
import type { Context } from '#context.ts'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { addresses } from '#devnet/addresses.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { streamRoute } from '#feed/stream-route.ts'
import type { OpenStream, Prepared, Route } from '#route.ts'
import { createHarness, HARNESS_MIGRATIONS, type Harness } from '#test/callers/callers-harness.ts'
import { beginChain } from '../chain-builder/built-chain.ts'
import { logOf } from '../chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '../chain-builder/serve-chain.ts'
import { localEcosystemAt } from '../indexed-ecosystem.ts'
import { dataRoutesOf } from '../route-reader.ts'
import { advanceAll, commitDepsOf, type SteppedIndex, stepIndex } from '../stepped-index.ts'
import { SILENT } from '../test-context.ts'

/** A register over made-up chains, real callers and a server on top, with a clock that a test moves. */
interface WorldInput extends Partial<ApiDeps> {
  readonly streamsMax?: number
  /** Calls of an address a day. */
  readonly anonymousQuota?: number
}

export interface StreamWorld {
  readonly ecosystem: Ecosystem
  readonly callers: Harness
  readonly origin: string
  /** The data endpoints, without a server. */
  readonly routes: readonly Route[]
  readonly base: ServedChain
  index: SteppedIndex
  /** Streams whose reader has not ended. */
  readonly open: { count: number }
  /** A block with so many burns on base, and its commit. */
  burn(count?: number): Promise<void>
  /** Indexes whatever the chains have. */
  catchUp(): Promise<void>
  /** A second server on the same stores, with the usual limits. */
  another(): Promise<string>
  stopServer(): Promise<void>
  end(): Promise<void>
}

/** With an empty register on other engines, one for each server, or on SQLite. */
export async function startStreamWorld(
  { streamsMax, anonymousQuota, ...more }: WorldInput = {},
  registers: readonly Engine[] = [],
): Promise<StreamWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  const { register, callers, close } = await openStores(folder, registers)
  const base = await serveChain(pricedChain(), { finalDepth: 8 })
  const ethereum = await serveChain(beginChain(1, 1_700_000_000).addEmpty(3), { finalDepth: 8 })
  const ecosystem = localEcosystemAt({ base: base.url, ethereum: ethereum.url })
  const open = { count: 0 }
  const serving = { register, ecosystem, callers, open, streamsMax, anonymousQuota }
  const first = await startServer(serving, more)
  const servers = [first]
  const world: StreamWorld = {
    ecosystem,
    callers,
    base,
    open,
    routes: dataRoutesOf({ register, ecosystem }),
    origin: first.origin,
    index: stepIndex(await commitDepsOf(register, ecosystem)),
    async burn(count = 1) {
      const { grave, distributor } = addresses.base
      const log = logOf.transfer(grave, distributor, ZERO, 10n ** 18n)
      base.chain = base.chain.add({ logs: Array.from({ length: count }, () => log) })
      await world.catchUp()
    },
    catchUp: () => advanceAll(world.index, ecosystem.chains),
    async another() {
      const server = await startServer({ ...serving, register: registers[1] ?? register }, {})
      servers.push(server)
      return server.origin
    },
    stopServer: () => first.server.stop(),
    async end() {
      for (const { server } of servers) await server.stop()
      await close()
      for (const node of [base, ethereum]) await node.stop()
      rmSync(folder, { recursive: true })
    },
  }
  await world.catchUp()
  // The first commit at the head begins the feed.
  await world.burn()
  return world
}

const ZERO = '0x0000000000000000000000000000000000000000'

function pricedChain() {
  const { grave, distributor, ethUsdFeed, market } = addresses.base
  return beginChain(8453, 1_700_000_000)
    .add({ logs: [logOf.mint(grave, distributor, 10n ** 27n)] })
    .add({ logs: [logOf.answer(ethUsdFeed, 3_000n * 10n ** 8n, 1n)] })
    .add({ logs: [logOf.sync(market.gravePair, 10n ** 21n, 10n ** 24n)] })
}

async function openStores(folder: string, registers: readonly Engine[]) {
  const open = (name: string) => openSqlite({ file: join(folder, name), durability: 'normal' })
  const [register = open('register.sqlite')] = registers
  const accounts = open('accounts.sqlite')
  await register.migrate(registerMigrations)
  await accounts.migrate(HARNESS_MIGRATIONS)
  const close = async () => {
    for (const each of registers.length > 0 ? registers : [register]) await each.close()
    await accounts.close()
  }
  return { register, callers: createHarness(accounts), close }
}

interface Serving {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly callers: Harness
  readonly open: { count: number }
  readonly streamsMax: number | undefined
  readonly anonymousQuota: number | undefined
}

async function startServer(
  { register, ecosystem, callers, open, streamsMax, anonymousQuota }: Serving,
  more: Partial<ApiDeps>,
): Promise<{ readonly server: HttpServer; readonly origin: string }> {
  const error = ({ err }: { readonly err: unknown }) => assert.fail(String(err))
  const { quotas } = callers.metering.ctx.ecosystem
  const ctx: Context = {
    ...callers.metering.ctx,
    register,
    ecosystem: {
      ...ecosystem,
      premium: null,
      quotas: { ...quotas, anonymous: anonymousQuota ?? quotas.anonymous },
    },
    logger: { ...SILENT, error },
  }
  const stream = streamRoute(ctx, streamsMax)
  const server = createApi({
    routes: [...dataRoutesOf({ register, ecosystem }), counted(stream, open)],
    pages: [],
    ctx,
    ...more,
  })
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  return { server, origin: `http://127.0.0.1:${port}` }
}

function counted(route: Route, open: { count: number }): Route {
  return {
    ...route,
    prepare(raw) {
      const prepared = route.prepare(raw)
      if (isRefusal(prepared)) return prepared
      const run: Prepared['run'] = async (...of) => {
        const outcome = await prepared.run(...of)
        if (outcome.kind !== 'stream') return outcome
        return { ...outcome, open: (signal) => countedStream(outcome.open(signal), open) }
      }
      return { ...prepared, run }
    },
  }
}

async function* countedStream(stream: ReturnType<OpenStream>, open: { count: number }) {
  open.count += 1
  try {
    yield* stream
  } finally {
    open.count -= 1
  }
}
