import assert from 'node:assert/strict'
import type { ChainSource } from '#chain/chain-source.ts'
import { BURNS } from '#data/burns/kind.ts'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { addresses } from '#devnet/addresses.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { ChainIndex } from '#index/chain-index.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { oneTokenEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { grave, graveyard, holder, operator } from '#test/local-addresses.ts'
import { startPostgres } from '#test/postgres.ts'
import { readinessOf } from '#test/readiness-harness.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { auditRegister } from './audit.ts'

const both = eachEngine(startPostgres, registerMigrations)

const DEAD = '0x000000000000000000000000000000000000dEaD'
const LOST = '0x0000000000000000000000000000000000000Bad'

/** Mints 1,000; sends 4 to zero, 10 to a burn address, which sends 9 on, and 300 to a wallet; digs 2,000. */
const chain = beginChain(8453, 1_700_000_000)
  .addEmpty(1)
  .add({ logs: [logOf.mint(grave, operator, 1_000n)] })
  .add({ logs: [logOf.transfer(grave, operator, holder, 300n)] })
  .add({ logs: [logOf.burn(grave, holder, 4n), logOf.transfer(grave, holder, DEAD, 10n)] })
  .add({
    logs: [
      logOf.burn(grave, DEAD, 4n),
      logOf.transfer(grave, DEAD, LOST, 3n),
      logOf.transfer(grave, DEAD, holder, 2n),
    ],
  })
  .add({ logs: [logOf.dig(graveyard, holder, 1n, 2_000n)] })
  .addEmpty(135)

const transfers = {
  chain: 'base',
  address: addresses.base.grave,
  token: 'GRAVE',
  event: 'event Transfer(address indexed from, address indexed to, uint256 value)',
  from: 'from',
  amount: 'value',
}

const digs = {
  chain: 'base',
  address: addresses.base.graveyard,
  token: 'GRAVE',
  event: 'event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount)',
  from: 'digger',
  amount: 'amount',
}

interface Indexed {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly source: ChainSource
}

/** Indexes the chain with the burns given. */
async function withBurns(
  engine: Engine,
  burns: NonNullable<EcosystemFile['burns']>,
  work: (indexed: Indexed) => Promise<void>,
): Promise<void> {
  const node = await serveChain(chain)
  try {
    const ecosystem = oneTokenEcosystemAt(node.url, (one) => ({
      ...one,
      supply: { burnAddresses: [DEAD, LOST] },
      burns,
    }))
    const [followed] = ecosystem.chains
    assert.ok(followed !== undefined)
    const source = openSource(followed)
    const deps = await commitDepsOf(engine, ecosystem)
    const index = new ChainIndex({ ...deps, source }, followed)
    while ((await index.followOnce()).kind !== 'idle');
    await work({ register: engine, ecosystem, source })
  } finally {
    await node.stop()
  }
}

both('burns above the minted supply fail readiness and audit', ({ engine }) =>
  withBurns(engine, [digs], async (indexed) => {
    const { ready, parts } = await readiness(indexed)
    assert.equal(ready, false)
    assert.match(
      parts['burns GRAVE'] ?? '',
      /^WRONG: 0\.000000000000002 GRAVE burned of 0\.000000000000001 ever minted: check the burns/,
    )
    const verdict = await audit(indexed)
    assert.match(verdict.difference ?? '', /GRAVE burned of .* ever minted/)
  }),
)

both('a register with correct burns is ready', ({ engine }) =>
  withBurns(engine, [transfers], async (indexed) => {
    assert.equal((await readiness(indexed)).ready, true)
    assert.deepEqual(await audit(indexed), {})
  }),
)

both('burns that a node left out are named by the audit', ({ engine }) =>
  withBurns(engine, [transfers], async (indexed) => {
    await engine.write((tx) => tx.run(sql`delete from event_buckets where dataset = ${BURNS}`))
    const verdict = await audit(indexed)
    assert.match(
      verdict.difference ?? '',
      /^GRAVE on base: transfers took \S+12 out .*, but 0 are burned/,
    )
  }),
)

const readiness = ({ register, ecosystem }: Indexed) => readinessOf(register, ecosystem)

function audit({ register, ecosystem, source }: Indexed) {
  return auditRegister({
    register,
    ecosystem,
    clock: Date.now,
    sourceOf: () => source,
    onProgress: () => undefined,
    note: () => undefined,
  })
}
