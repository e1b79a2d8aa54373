import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { addresses } from '#devnet/addresses.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { oneTokenEcosystemAt } from '#test/indexed-ecosystem.ts'
import { grave, graveyard, holder } from '#test/local-addresses.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { eventually } from '#test/world.ts'
import { runIndex } from './run-index.ts'

const both = eachEngine(startPostgres, registerMigrations)

const chain = beginChain(8453, 1_700_000_000)
  .addEmpty(1)
  .add({ logs: [logOf.mint(grave, holder, 1_000n)] })
  .add({ logs: [logOf.burn(grave, holder, 4n)] })
  .add({ logs: [logOf.dig(graveyard, holder, 1n, 20n)] })
  .addEmpty(100)

const burned = { chain: 'base', address: addresses.base.grave, token: 'GRAVE', from: 'from' }
const matched = {
  ...burned,
  event: 'event Transfer(address indexed from, address indexed to, uint256 value)',
  amount: 'value',
}
const unmatched = {
  ...burned,
  event: 'event Burned(address indexed from, uint256 amount)',
  amount: 'amount',
}

interface Line {
  readonly msg: string
  readonly mapping?: string
}

/** Runs an index of the chain on the register; returns its warnings about mappings. */
async function warningsOf(
  engine: Engine,
  burns: NonNullable<EcosystemFile['burns']>,
  until: (lines: readonly Line[]) => boolean,
): Promise<readonly Line[]> {
  const node = await serveChain(chain)
  const ecosystem = oneTokenEcosystemAt(node.url, (one) => ({ ...one, burns }))
  const lines: Line[] = []
  const output = new Writable({
    write(text, _encoding, done) {
      lines.push(JSON.parse(String(text)))
      done()
    },
  })
  const stop = new AbortController()
  const running = runIndex(
    {
      ecosystem,
      register: engine,
      clock: Date.now,
      logger: pino({ level: 'info' }, output),
      onProgress: () => undefined,
      onLead: () => undefined,
    },
    stop.signal,
  )
  try {
    await eventually(async () => (until(lines) ? true : undefined), 20_000)
  } finally {
    stop.abort()
    await running
    await node.stop()
  }
  return lines.filter(({ mapping }) => mapping !== undefined)
}

both('the start warns if a burn could be counted twice', async ({ engine }) => {
  const lines: Line[] = []
  await warningsOf(engine, [matched, unmatched], (told) => {
    lines.splice(0, lines.length, ...told)
    return told.some(({ msg }) => msg.startsWith('burns[1] and burns[0]'))
  })
  assert.match(lines.map(({ msg }) => msg).join('\n'), /may count the same burns of GRAVE on base/)
})
