import assert from 'node:assert/strict'
import { after } from 'node:test'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { filePartsOf } from '#chains/datasets/file-parts.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { ChainIndex } from '#chains/indexer/chain-index.ts'
import { applyConfig } from '#chains/indexer/indexed-config/apply-config.ts'
import { isOwnRegister } from '#chains/indexer/indexed-config/is-own-register.ts'
import { mine, payUsdc } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { parseAddress } from '#domain/address.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { DepositProver } from './prove-deposits.ts'

const onEach = eachEngine(startPostgres, registerMigrations)
const devnet = await startOwnDevnet({ historyDays: 1 })
const { client, rpcUrl, chainId } = devnet.chains.base
after(() => devnet.stop())
for (const to of [accounts.payTo, accounts.operator])
  await payUsdc(client, { from: accounts.holder, to, amount: 7n })
await mine(client, { blocks: 12 })

const paidTo = (payTo: string) =>
  localEcosystemAt({ base: rpcUrl }, (file) => {
    assert.ok(file.payment !== undefined)
    return {
      ...file,
      payment: { ...file.payment, payTo: [{ address: payTo, since: '2025-01-01' }] },
    }
  })
const oldFile = paidTo(accounts.payTo)
const newFile = paidTo(accounts.operator)

/** Starts an indexer and applies its file to the register. */
async function applyFile(engine: Engine, ecosystem: Ecosystem) {
  const { payment } = ecosystem
  assert.ok(payment !== null)
  const deps = await commitDepsOf(engine, ecosystem)
  const file = filePartsOf(ecosystem)
  await applyConfig({ ...deps, file, hasWaited: false })
  const source = openRpcSource({ chainId, urls: [rpcUrl] })
  const index = new ChainIndex({ ...deps, source }, payment.chain)
  const news: string[] = []
  const proving = {
    register: engine,
    payment,
    source,
    file,
    clock: Date.now,
    report: ({ kind }: { readonly kind: string }) => void news.push(kind),
  }
  const prover = new DepositProver(proving)
  const { signal } = new AbortController()
  return {
    ...{ news, prover },
    async follow() {
      while ((await index.followOnce()).kind !== 'idle');
    },
    prove: () => prover.proveStored(signal),
  }
}

onEach('a process with an outdated file writes no proofs to the register', async ({ engine }) => {
  const old = await applyFile(engine, oldFile)
  await old.follow()
  const [paid] = await engine.read(sql`select block_number, block_hash from deposits`)
  assert.ok(paid !== undefined)
  const young = await applyFile(engine, newFile)
  await young.follow()
  const block = { number: Number(paid.block_number), hash: paid.block_hash as `0x${string}` }
  await old.prover.prove(block)
  await old.prove()
  const found = await engine.read(sql`select distinct recipient, proven from deposits`)
  assert.deepEqual(
    found.map(({ recipient, proven }) => [recipient, Number(proven)]),
    [[parseAddress(accounts.operator), 0]],
  )
  await young.prove()
  assert.deepEqual([...old.news, ...young.news], [])
})

onEach(
  'a register that never had a file applied accepts proofs with any file',
  async ({ engine }) => {
    const isOurs = (digest: string) =>
      engine.write((connection) => isOwnRegister(connection, { digest }))
    assert.equal(await isOurs('a'), true)
    await applyFile(engine, newFile)
    assert.equal(await isOurs(filePartsOf(newFile).digest), true)
    assert.equal(await isOurs(filePartsOf(oldFile).digest), false)
  },
)
