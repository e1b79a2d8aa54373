import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { createHarness, HARNESS_MIGRATIONS, type Harness } from '#access/access-harness.ts'
import { type ApiDeps, createApi } from '#api/create-api.ts'
import { AnswerCache } from '#datasets/answer-cache.ts'
import { registerMigrations } from '#datasets/datasets.ts'
import { filePartsOf } from '#datasets/file-parts.ts'
import { addresses } from '#devnet/addresses.ts'
import { isRefusal } from '#domain/refusal.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { readIndexStatus } from '#indexer/status.ts'
import type { Prepared, Route } from '#route/route.ts'
import type { Engine } from '#store/engine.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { streamRoute } from '#stream/stream-route.ts'
import { beginChain } from '../chain-builder/built-chain.ts'
import { logOf } from '../chain-builder/log-plans.ts'
import { type ServedChain, serveChain } from '../chain-builder/serve-chain.ts'
import { localEcosystemAt } from '../indexed-ecosystem.ts'
import { dataRoutesOf } from '../route-reader.ts'
import { advanceAll, commitDepsOf, type SteppedIndex, stepIndex } from '../stepped-index.ts'

/** A register over made-up chains, real access and a server on top, with a clock that a test moves. */
export interface StreamWorld {
  readonly nodes: readonly ServedChain[]
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly access: Harness
  readonly origin: string
  readonly errors: unknown[]
  index: SteppedIndex
  /** Whose reader has not ended. */
  openStreams(): number
  /** A block with so many burns on base, and its commit. */
  burn(count?: number): Promise<void>
  /** Indexes whatever the chains have. */
  catchUp(): Promise<void>
  /** A second server on the same stores, with the usual limits. */
  another(): Promise<string>
  stopServer(): Promise<void>
  end(): Promise<void>
}

export async function startStreamWorld(more: Partial<ApiDeps> = {}): Promise<StreamWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  const open = (name: string) => openSqlite({ file: join(folder, name), durability: 'normal' })
  const [register, accounts] = [open('register.sqlite'), open('accounts.sqlite')]
  await register.migrate(registerMigrations)
  await accounts.migrate(HARNESS_MIGRATIONS)
  const nodes = [
    await serveChain(richChain(), { finalDepth: 8 }),
    await serveChain(beginChain(1, 1_700_000_000).addEmpty(3), { finalDepth: 8 }),
  ]
  const ecosystem = localEcosystemAt({ base: nodes[0]?.url ?? '', ethereum: nodes[1]?.url ?? '' })
  const access = createHarness(accounts)
  const errors: unknown[] = []
  let openStreams = 0
  const servers = [await startServer(more)]
  const world = {
    nodes,
    ecosystem,
    register,
    access,
    errors,
    openStreams: () => openStreams,
    origin: servers[0]?.origin ?? '',
    index: stepIndex(await commitDepsOf(register, ecosystem)),
    async burn(count = 1) {
      const [base] = nodes
      assert.ok(base !== undefined)
      const { grave, distributor } = addresses.base
      const log = logOf.transfer(grave, distributor, ZERO, 10n ** 18n)
      base.chain = base.chain.add({ logs: Array.from({ length: count }, () => log) })
      await world.catchUp()
    },
    catchUp: () => advanceAll(world.index, ecosystem.chains),
    async another() {
      const server = await startServer({})
      servers.push(server)
      return server.origin
    },
    stopServer: async () => servers[0]?.server.stop(),
    async end() {
      for (const { server } of servers) await server.stop()
      await register.close()
      await accounts.close()
      for (const node of nodes) await node.stop()
      rmSync(folder, { recursive: true })
    },
  }
  await world.catchUp()
  // The first commit at the head begins the feed.
  await world.burn()
  return world

  function streamRoutes(): readonly Route[] {
    const file = filePartsOf(ecosystem)
    const clock = () => access.now.ms
    const answers = new AnswerCache({
      clock: Date.now,
      readStatus: () =>
        register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains, file)),
    })
    const report = (error: unknown) => void errors.push(error)
    return [counted(streamRoute({ register, ecosystem, clock, file, answers, report }))]
  }

  function counted(route: Route): Route {
    return {
      ...route,
      prepare(raw) {
        const prepared = route.prepare(raw)
        if (isRefusal(prepared)) return prepared
        const run: Prepared['run'] = async (facts) => {
          const outcome = await prepared.run(facts)
          if (outcome.kind !== 'stream') return outcome
          return { ...outcome, open: (signal) => countedStream(outcome.open(signal)) }
        }
        return { ...prepared, run }
      },
    }
  }

  async function* countedStream(stream: AsyncIterable<string>) {
    openStreams += 1
    try {
      yield* stream
    } finally {
      openStreams -= 1
    }
  }

  async function startServer(limits: Partial<ApiDeps>) {
    let requests = 0
    const server = createApi({
      ...access.access,
      routes: [...dataRoutesOf({ register, ecosystem }), ...streamRoutes()],
      pages: [],
      clock: () => access.now.ms,
      remembered: new LRUCache({ max: 10, ttl: 1_000 }),
      publicBaseUrl: 'https://api.example',
      paymentRequired: () => ({ kind: 'payment-required', body: { error: 'payment_required' } }),
      outage: () => undefined,
      report: (error) => errors.push(error),
      newRequestId: () => `request-${++requests}`,
      ...limits,
    })
    const port = await server.listen({ host: '127.0.0.1', port: 0 })
    return { server, origin: `http://127.0.0.1:${port}` }
  }
}

const ZERO = '0x0000000000000000000000000000000000000000'

function richChain() {
  const { grave, distributor, ethUsdFeed, market } = addresses.base
  return beginChain(8453, 1_700_000_000)
    .add({ logs: [logOf.mint(grave, distributor, 10n ** 27n)] })
    .add({ logs: [logOf.answer(ethUsdFeed, 3_000n * 10n ** 8n, 1n)] })
    .add({ logs: [logOf.sync(market.gravePair, 10n ** 21n, 10n ** 24n)] })
}
